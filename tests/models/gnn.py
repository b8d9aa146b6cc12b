"""Message passing by scatter: a graph convolution, attention over edges, pooling by graph, one training step."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def scatter_sum(src, index, dim_size):
    out = src.new_zeros(dim_size, *src.shape[1:])
    return out.index_add(0, index, src)


def scatter_softmax(scores, index, num_nodes):
    maximum = torch.full((num_nodes, scores.size(1)), float("-inf"))
    maximum = maximum.scatter_reduce(0, index.unsqueeze(-1).expand_as(scores), scores, reduce="amax")
    exp = (scores - maximum[index]).exp()
    total = scatter_sum(exp, index, num_nodes)
    return exp / (total[index] + 1e-16)


class GCNConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x, edge_index):
        num_nodes = x.size(0)
        loops = torch.arange(num_nodes).repeat(2, 1)
        edge_index = torch.cat([edge_index, loops], dim=1)
        row, col = edge_index
        deg = torch.zeros(num_nodes).scatter_add_(0, col, torch.ones(col.size(0)))
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        x = self.lin(x)
        messages = norm.view(-1, 1) * x[row]
        out = torch.zeros(num_nodes, x.size(1)).index_add_(0, col, messages)
        return out + self.bias


class GATConv(nn.Module):
    def __init__(self, in_channels, out_channels, heads=1):
        super().__init__()
        self.heads, self.out_channels = heads, out_channels
        self.lin = nn.Linear(in_channels, heads * out_channels, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.att_src)
        nn.init.xavier_uniform_(self.att_dst)

    def forward(self, x, edge_index):
        H, C = self.heads, self.out_channels
        x = self.lin(x).view(-1, H, C)
        alpha_src = (x * self.att_src).sum(dim=-1)
        alpha_dst = (x * self.att_dst).sum(-1)
        src, dst = edge_index[0], edge_index[1]
        alpha = F.leaky_relu(alpha_src[src] + alpha_dst[dst], 0.2)
        alpha = scatter_softmax(alpha, dst, x.size(0))
        out = scatter_sum(x[src] * alpha.unsqueeze(-1), dst, x.size(0))
        return out.mean(dim=1)


class Net(nn.Module):
    def __init__(self, num_features, hidden, num_classes):
        super().__init__()
        self.conv1 = GCNConv(num_features, hidden)
        self.convs = nn.ModuleList()
        for _ in range(2):
            self.convs.append(GATConv(hidden, hidden, heads=3))
        self.classifier = nn.Linear(2 * hidden, num_classes)

    def forward(self, x, edge_index, batch):
        x = F.relu(self.conv1(x, edge_index))
        for conv in self.convs:
            x = x + F.elu(conv(x, edge_index))
        num_graphs = int(batch.max()) + 1
        total = scatter_sum(x, batch, num_graphs)
        count = torch.bincount(batch, minlength=num_graphs).clamp(min=1).unsqueeze(1)
        mean = total / count
        pooled = torch.cat([total, mean], dim=-1)
        return self.classifier(pooled)


def to_edge_index(adj):
    return adj.nonzero().t().contiguous()


def main():
    model = Net(5, 8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(12, 5)
    edge_index = torch.randint(0, 12, (2, 30))
    batch = torch.arange(3).repeat_interleave(4)
    y = torch.tensor([0, 2, 1])
    out = model(x, edge_index, batch)
    loss = F.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    edges = to_edge_index((torch.rand(12, 12) > 0.8).long())
    again = model(x, edges, batch)
    correct = int((again.argmax(dim=1) == y).sum())
    return correct / y.numel()


if __name__ == "__main__":
    main()
