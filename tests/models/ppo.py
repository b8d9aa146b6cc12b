"""PPO on a toy environment: rollout buffer of lists, generalised advantages, clipped objective, minibatches."""

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical, MultivariateNormal


class PointEnv:
    def __init__(self, horizon=9):
        self.horizon = horizon

    def reset(self):
        self.t = 0
        self.state = np.random.randn(4).astype(np.float32)
        return self.state

    def step(self, action):
        self.t += 1
        self.state = self.state + 0.1 * np.random.randn(4).astype(np.float32)
        reward = float(-np.abs(self.state).sum())
        return self.state, reward, self.t >= self.horizon, {}


class RolloutBuffer:
    def __init__(self):
        self.actions = []
        self.states = []
        self.logprobs = []
        self.rewards = []
        self.state_values = []
        self.is_terminals = []

    def clear(self):
        del self.actions[:]
        del self.states[:]
        del self.logprobs[:]
        del self.rewards[:]
        del self.state_values[:]
        del self.is_terminals[:]


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim, has_continuous_action_space, action_std_init=0.6):
        super(ActorCritic, self).__init__()
        self.has_continuous_action_space = has_continuous_action_space
        if has_continuous_action_space:
            self.action_dim = action_dim
            self.action_var = torch.full((action_dim,), action_std_init * action_std_init)
        layers = [nn.Linear(state_dim, 16), nn.Tanh(), nn.Linear(16, action_dim)]
        layers.append(nn.Tanh() if has_continuous_action_space else nn.Softmax(dim=-1))
        self.actor = nn.Sequential(*layers)
        self.critic = nn.Sequential(nn.Linear(state_dim, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self):
        raise NotImplementedError

    def act(self, state):
        if self.has_continuous_action_space:
            action_mean = self.actor(state)
            cov_mat = torch.diag(self.action_var).unsqueeze(dim=0)
            dist = MultivariateNormal(action_mean, cov_mat)
        else:
            action_probs = self.actor(state)
            dist = Categorical(action_probs)
        action = dist.sample()
        action_logprob = dist.log_prob(action)
        state_val = self.critic(state)
        return action.detach(), action_logprob.detach(), state_val.detach()

    def evaluate(self, state, action):
        if self.has_continuous_action_space:
            action_mean = self.actor(state)
            action_var = self.action_var.expand_as(action_mean)
            cov_mat = torch.diag_embed(action_var)
            dist = MultivariateNormal(action_mean, cov_mat)
        else:
            action_probs = self.actor(state)
            dist = Categorical(action_probs)
        action_logprobs = dist.log_prob(action)
        dist_entropy = dist.entropy()
        state_values = self.critic(state)
        return action_logprobs, state_values, dist_entropy


class PPO:
    def __init__(self, state_dim, action_dim, gamma=0.99, K_epochs=2, eps_clip=0.2, continuous=False):
        self.gamma = gamma
        self.eps_clip = eps_clip
        self.K_epochs = K_epochs
        self.buffer = RolloutBuffer()
        self.policy = ActorCritic(state_dim, action_dim, continuous)
        self.optimizer = torch.optim.Adam(
            [{"params": self.policy.actor.parameters()}, {"params": self.policy.critic.parameters(), "lr": 1e-3}],
            lr=3e-4,
        )
        self.policy_old = ActorCritic(state_dim, action_dim, continuous)
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.MseLoss = nn.MSELoss()

    def select_action(self, state):
        with torch.no_grad():
            state = torch.FloatTensor(state)
            action, action_logprob, state_val = self.policy_old.act(state)
        self.buffer.states.append(state)
        self.buffer.actions.append(action)
        self.buffer.logprobs.append(action_logprob)
        self.buffer.state_values.append(state_val)
        return action.numpy().flatten()

    def update(self):
        rewards = []
        discounted_reward = 0
        for reward, is_terminal in zip(reversed(self.buffer.rewards), reversed(self.buffer.is_terminals)):
            if is_terminal:
                discounted_reward = 0
            discounted_reward = reward + (self.gamma * discounted_reward)
            rewards.insert(0, discounted_reward)
        rewards = torch.tensor(rewards, dtype=torch.float32)
        rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-7)
        old_states = torch.squeeze(torch.stack(self.buffer.states, dim=0)).detach()
        old_actions = torch.squeeze(torch.stack(self.buffer.actions, dim=0)).detach()
        old_logprobs = torch.squeeze(torch.stack(self.buffer.logprobs, dim=0)).detach()
        old_state_values = torch.squeeze(torch.stack(self.buffer.state_values, dim=0)).detach()
        advantages = rewards.detach() - old_state_values.detach()
        for _ in range(self.K_epochs):
            logprobs, state_values, dist_entropy = self.policy.evaluate(old_states, old_actions)
            state_values = torch.squeeze(state_values)
            ratios = torch.exp(logprobs - old_logprobs.detach())
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * self.MseLoss(state_values, rewards) - 0.01 * dist_entropy
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.buffer.clear()


def gae(rewards, values, dones, gamma=0.99, lam=0.95):
    advantages = torch.zeros_like(rewards)
    lastgaelam = 0
    num_steps = rewards.shape[0]
    for t in reversed(range(num_steps - 1)):
        nextnonterminal = 1.0 - dones[t + 1]
        delta = rewards[t] + gamma * values[t + 1] * nextnonterminal - values[t]
        advantages[t] = lastgaelam = delta + gamma * lam * nextnonterminal * lastgaelam
    return advantages, advantages + values


def minibatches(batch_size, minibatch_size):
    inds = np.arange(batch_size)
    np.random.shuffle(inds)
    for start in range(0, batch_size, minibatch_size):
        yield inds[start : start + minibatch_size]


def main():
    env = PointEnv()
    for continuous in (False, True):
        agent = PPO(4, 2, continuous=continuous)
        for episode in range(2):
            state = env.reset()
            done = False
            while not done:
                action = agent.select_action(state)
                state, reward, done, _ = env.step(action)
                agent.buffer.rewards.append(reward)
                agent.buffer.is_terminals.append(done)
        agent.update()
    rewards, values, dones = torch.randn(8, 3), torch.randn(8, 3), torch.zeros(8, 3)
    advantages, returns = gae(rewards, values, dones)
    flat = advantages.reshape(-1)
    for mb in minibatches(24, 7):
        mb_advantages = flat[mb]
        normalised = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
    return normalised, returns


if __name__ == "__main__":
    main()
