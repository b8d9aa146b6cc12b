"""A bidirectional LSTM classifier: padded batches by a collate function, packed sequences, attention pooling."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, n=9, vocab=50):
        self.texts = [torch.randint(1, vocab, (int(length),)) for length in torch.randint(3, 12, (n,))]
        self.labels = torch.randint(0, 3, (n,))

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, idx):
        return self.texts[idx], self.labels[idx]


def collate(batch):
    batch = sorted(batch, key=lambda pair: len(pair[0]), reverse=True)
    texts, labels = zip(*batch)
    lengths = torch.tensor([len(text) for text in texts])
    padded = pad_sequence(texts, batch_first=True)
    return padded, lengths, torch.stack(labels)


class Attention(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.score = nn.Linear(hidden_dim, 1)

    def forward(self, outputs, mask):
        scores = self.score(outputs).squeeze(-1)
        scores = scores.masked_fill(~mask, -1e9)
        weights = F.softmax(scores, dim=1)
        context = torch.bmm(weights.unsqueeze(1), outputs).squeeze(1)
        return context, weights


class LSTMClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim, hidden_dim, num_classes, num_layers=2, dropout=0.2):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.lstm = nn.LSTM(
            embed_dim, hidden_dim, num_layers=num_layers, batch_first=True, bidirectional=True, dropout=dropout
        )
        self.attention = Attention(hidden_dim * 2)
        self.fc = nn.Linear(hidden_dim * 2, num_classes)
        self.dropout = nn.Dropout(dropout)

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        h0 = weight.new_zeros(self.num_layers * 2, batch_size, self.hidden_dim)
        c0 = weight.new_zeros(self.num_layers * 2, batch_size, self.hidden_dim)
        return h0, c0

    def forward(self, x, lengths):
        embedded = self.dropout(self.embedding(x))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True)
        hidden = self.init_hidden(x.size(0))
        packed_out, (h_n, c_n) = self.lstm(packed, hidden)
        outputs, _ = pad_packed_sequence(packed_out, batch_first=True)
        mask = x != 0
        context, weights = self.attention(outputs, mask)
        last = torch.cat((h_n[-2], h_n[-1]), dim=1)
        features = self.dropout(context + last)
        logits = self.fc(features)
        return logits, weights


class CharGRU(nn.Module):
    """The plain way, time first and one step at a time."""

    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.n_hidden = n_hidden
        self.i2h = nn.Linear(n_in + n_hidden, n_hidden)
        self.cell = nn.GRUCell(n_in, n_hidden)
        self.h2o = nn.Linear(n_hidden, n_out)

    def forward(self, line):
        hidden = torch.zeros(1, self.n_hidden)
        state = torch.zeros(1, self.n_hidden)
        for i in range(line.size(0)):
            combined = torch.cat((line[i], hidden), 1)
            hidden = torch.tanh(self.i2h(combined))
            state = self.cell(line[i], state)
        output = self.h2o(hidden + state)
        return F.log_softmax(output, dim=1)


def main():
    loader = DataLoader(Reviews(), batch_size=4, collate_fn=collate)
    model = LSTMClassifier(50, 8, 6, 3)
    optimizer = torch.optim.Adam(model.parameters())
    for texts, lengths, labels in loader:
        optimizer.zero_grad()
        logits, weights = model(texts, lengths)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
    char = CharGRU(7, 5, 4)
    line = F.one_hot(torch.randint(0, 7, (6,)), 7).float().unsqueeze(1)
    scores = char(line)
    nll = F.nll_loss(scores, torch.tensor([2]))
    nll.backward()
    guess = scores.argmax(dim=1).item()
    return guess


if __name__ == "__main__":
    main()
