"""A denoising diffusion step: schedule as buffers, sinusoidal embedding, extract, noise loss, ancestral sampling."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def exists(x):
    return x is not None


def default(val, d):
    if exists(val):
        return val
    return d() if callable(d) else d


def extract(a, t, x_shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


def cosine_beta_schedule(timesteps, s=0.008):
    steps = timesteps + 1
    x = torch.linspace(0, timesteps, steps)
    alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    betas = 1 - (alphas_cumprod[1:] / alphas_cumprod[:-1])
    return torch.clip(betas, 0, 0.999)


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        device = x.device
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim, device=device) * -emb)
        emb = x[:, None] * emb[None, :]
        emb = torch.cat((emb.sin(), emb.cos()), dim=-1)
        return emb


class Block(nn.Module):
    def __init__(self, dim, dim_out, groups=4):
        super().__init__()
        self.proj = nn.Conv2d(dim, dim_out, 3, padding=1)
        self.norm = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()

    def forward(self, x, scale_shift=None):
        x = self.proj(x)
        x = self.norm(x)
        if exists(scale_shift):
            scale, shift = scale_shift
            x = x * (scale + 1) + shift
        x = self.act(x)
        return x


class ResnetBlock(nn.Module):
    def __init__(self, dim, dim_out, *, time_emb_dim=None, groups=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_emb_dim, dim_out * 2)) if exists(time_emb_dim) else None
        self.block1 = Block(dim, dim_out, groups=groups)
        self.block2 = Block(dim_out, dim_out, groups=groups)
        self.res_conv = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def forward(self, x, time_emb=None):
        scale_shift = None
        if exists(self.mlp) and exists(time_emb):
            time_emb = self.mlp(time_emb)
            time_emb = time_emb[:, :, None, None]
            scale_shift = time_emb.chunk(2, dim=1)
        h = self.block1(x, scale_shift=scale_shift)
        h = self.block2(h)
        return h + self.res_conv(x)


class Denoiser(nn.Module):
    def __init__(self, dim, channels=1, mults=(1, 2)):
        super().__init__()
        self.init_conv = nn.Conv2d(channels, dim, 7, padding=3)
        time_dim = dim * 4
        self.time_mlp = nn.Sequential(
            SinusoidalPosEmb(dim), nn.Linear(dim, time_dim), nn.GELU(), nn.Linear(time_dim, time_dim)
        )
        dims = [dim, *map(lambda m: dim * m, mults)]
        in_out = list(zip(dims[:-1], dims[1:]))
        self.downs = nn.ModuleList([])
        self.ups = nn.ModuleList([])
        for dim_in, dim_out in in_out:
            self.downs.append(
                nn.ModuleList([ResnetBlock(dim_in, dim_in, time_emb_dim=time_dim), nn.Conv2d(dim_in, dim_out, 4, 2, 1)])
            )
        for dim_in, dim_out in reversed(in_out):
            self.ups.append(
                nn.ModuleList(
                    [
                        nn.ConvTranspose2d(dim_out, dim_in, 4, 2, 1),
                        ResnetBlock(dim_in * 2, dim_in, time_emb_dim=time_dim),
                    ]
                )
            )
        self.final = nn.Conv2d(dim, channels, 1)

    def forward(self, x, time):
        x = self.init_conv(x)
        t = self.time_mlp(time)
        h = []
        for block, downsample in self.downs:
            x = block(x, t)
            h.append(x)
            x = downsample(x)
        for upsample, block in self.ups:
            x = upsample(x)
            x = torch.cat((x, h.pop()), dim=1)
            x = block(x, t)
        return self.final(x)


class GaussianDiffusion(nn.Module):
    def __init__(self, model, *, image_size, timesteps=10):
        super().__init__()
        self.model = model
        self.image_size = image_size
        betas = cosine_beta_schedule(timesteps)
        alphas = 1.0 - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
        (timesteps,) = betas.shape
        self.num_timesteps = int(timesteps)
        register_buffer = lambda name, val: self.register_buffer(name, val.to(torch.float32))
        register_buffer("betas", betas)
        register_buffer("alphas_cumprod", alphas_cumprod)
        register_buffer("sqrt_alphas_cumprod", torch.sqrt(alphas_cumprod))
        register_buffer("sqrt_one_minus_alphas_cumprod", torch.sqrt(1.0 - alphas_cumprod))
        self.register_buffer("posterior_variance", betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod))

    @property
    def loss_fn(self):
        return F.mse_loss

    def q_sample(self, x_start, t, noise=None):
        noise = default(noise, lambda: torch.randn_like(x_start))
        return (
            extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start
            + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise
        )

    def p_losses(self, x_start, t, noise=None):
        b, c, h, w = x_start.shape
        noise = default(noise, lambda: torch.randn_like(x_start))
        x = self.q_sample(x_start=x_start, t=t, noise=noise)
        model_out = self.model(x, t)
        loss = self.loss_fn(model_out, noise, reduction="none")
        loss = loss.flatten(1).mean(1)
        return loss.mean()

    @torch.no_grad()
    def sample(self, batch_size=2):
        img = torch.randn(batch_size, 1, self.image_size, self.image_size)
        for t in reversed(range(0, self.num_timesteps)):
            batched = torch.full((batch_size,), t, dtype=torch.long)
            eps = self.model(img, batched)
            beta = extract(self.betas, batched, img.shape)
            img = (img - beta / extract(self.sqrt_one_minus_alphas_cumprod, batched, img.shape) * eps) / (
                1 - beta
            ).sqrt()
        return img

    def forward(self, img, *args, **kwargs):
        b, c, h, w, device, img_size = *img.shape, img.device, self.image_size
        assert h == img_size and w == img_size
        t = torch.randint(0, self.num_timesteps, (b,), device=device).long()
        return self.p_losses(img, t, *args, **kwargs)


def main():
    diffusion = GaussianDiffusion(Denoiser(8), image_size=16)
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-4)
    loss = diffusion(torch.randn(3, 1, 16, 16))
    loss.backward()
    optimizer.step()
    images = diffusion.sample()
    return images


if __name__ == "__main__":
    main()
