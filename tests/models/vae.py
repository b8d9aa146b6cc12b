"""A convolutional VAE with a linear one beside it: reparameterisation, ELBO, KL annealing, a grid of samples."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class BaseVAE(nn.Module):
    latent_dim = 4

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return eps * std + mu

    def encode(self, x):
        raise NotImplementedError

    def decode(self, z):
        raise NotImplementedError

    def forward(self, x):
        mu, log_var = self.encode(x)
        z = self.reparameterize(mu, log_var)
        return self.decode(z), mu, log_var


class ConvVAE(BaseVAE):
    def __init__(self, in_channels=1, latent_dim=6, hidden_dims=None):
        super().__init__()
        self.latent_dim = latent_dim
        modules = []
        if hidden_dims is None:
            hidden_dims = [8, 16]
        channels = in_channels
        for h_dim in hidden_dims:
            modules.append(
                nn.Sequential(
                    nn.Conv2d(channels, out_channels=h_dim, kernel_size=3, stride=2, padding=1),
                    nn.BatchNorm2d(h_dim),
                    nn.LeakyReLU(),
                )
            )
            channels = h_dim
        self.encoder = nn.Sequential(*modules)
        self.fc_mu = nn.Linear(hidden_dims[-1] * 4 * 4, latent_dim)
        self.fc_var = nn.Linear(hidden_dims[-1] * 4 * 4, latent_dim)
        self.decoder_input = nn.Linear(latent_dim, hidden_dims[-1] * 4 * 4)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, kernel_size=3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, in_channels, kernel_size=4, stride=2, padding=1),
            nn.Sigmoid(),
        )

    def encode(self, x):
        result = self.encoder(x)
        result = torch.flatten(result, start_dim=1)
        return [self.fc_mu(result), self.fc_var(result)]

    def decode(self, z):
        result = self.decoder_input(z)
        result = result.view(-1, 16, 4, 4)
        return self.decoder(result)

    def sample(self, num_samples, current_device="cpu"):
        z = torch.randn(num_samples, self.latent_dim)
        z = z.to(current_device)
        samples = self.decode(z)
        return samples


class LinearVAE(BaseVAE):
    def __init__(self, image_size=256, h_dim=20, z_dim=5):
        super().__init__()
        self.fc1 = nn.Linear(image_size, h_dim)
        self.fc2 = nn.Linear(h_dim, 2 * z_dim)
        self.fc3 = nn.Linear(z_dim, h_dim)
        self.fc4 = nn.Linear(h_dim, image_size)
        self.image_size = image_size

    def encode(self, x):
        h = F.relu(self.fc1(x.view(-1, self.image_size)))
        mu, log_var = self.fc2(h).chunk(2, dim=-1)
        return mu, log_var

    def decode(self, z):
        h = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h))


def loss_function(recon_x, x, mu, logvar, kld_weight=1.0):
    recons = F.binary_cross_entropy(recon_x, x, reduction="sum") / x.size(0)
    kld = torch.mean(-0.5 * torch.sum(1 + logvar - mu**2 - logvar.exp(), dim=1), dim=0)
    return {"loss": recons + kld_weight * kld, "recons": recons.detach(), "kld": -kld.detach()}


def make_grid(images, rows=2):
    images = images.detach().numpy().squeeze(1)
    n, height, width = images.shape
    cols = n // rows
    grid = images.reshape(rows, cols, height, width).transpose(0, 2, 1, 3).reshape(rows * height, cols * width)
    return (grid * 255).astype(np.uint8)


def main():
    images = torch.rand(7, 1, 16, 16)
    model = ConvVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(2):
        recon, mu, log_var = model(images)
        losses = loss_function(recon, images, mu, log_var, kld_weight=min(1.0, step / 10))
        loss = losses["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    linear = LinearVAE()
    recon, mu, log_var = linear(images)
    other = loss_function(recon, images.view(-1, 256), mu, log_var)["loss"]
    other.backward()
    grid = make_grid(model.sample(6))
    return grid


if __name__ == "__main__":
    main()
