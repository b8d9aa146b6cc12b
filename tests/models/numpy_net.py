"""A two-layer network by hand in NumPy, k-means and PCA: what is written before any framework."""

import numpy as np


class Layer:
    def set_input_shape(self, shape):
        self.input_shape = shape


class Dense(Layer):
    def __init__(self, n_units, input_shape=None):
        self.n_units = n_units
        self.input_shape = input_shape
        self.layer_input = None
        self.W = None
        self.w0 = None

    def initialize(self):
        limit = 1 / np.sqrt(self.input_shape[0])
        self.W = np.random.uniform(-limit, limit, (self.input_shape[0], self.n_units))
        self.w0 = np.zeros((1, self.n_units))

    def forward_pass(self, X, training=True):
        self.layer_input = X
        return X.dot(self.W) + self.w0

    def backward_pass(self, accum_grad, lr=0.01):
        W = self.W
        grad_w = self.layer_input.T.dot(accum_grad)
        grad_w0 = np.sum(accum_grad, axis=0, keepdims=True)
        self.W = self.W - lr * grad_w
        self.w0 = self.w0 - lr * grad_w0
        return accum_grad.dot(W.T)


class Softmax:
    def __call__(self, x):
        e_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e_x / np.sum(e_x, axis=-1, keepdims=True)


def to_categorical(x, n_col=None):
    if not n_col:
        n_col = np.amax(x) + 1
    one_hot = np.zeros((x.shape[0], n_col))
    one_hot[np.arange(x.shape[0]), x] = 1
    return one_hot


def batch_iterator(X, y=None, batch_size=64):
    n_samples = X.shape[0]
    for i in np.arange(0, n_samples, batch_size):
        begin, end = i, min(i + batch_size, n_samples)
        if y is not None:
            yield X[begin:end], y[begin:end]
        else:
            yield X[begin:end]


def kmeans(X, k, iterations=4):
    centroids = X[np.random.choice(X.shape[0], k, replace=False)]
    for _ in range(iterations):
        distances = np.sqrt(((X[:, np.newaxis, :] - centroids[np.newaxis, :, :]) ** 2).sum(axis=2))
        labels = np.argmin(distances, axis=1)
        for j in range(k):
            members = X[labels == j]
            if len(members):
                centroids[j] = members.mean(axis=0)
    return centroids, labels


def pca(X, n_components):
    centred = X - X.mean(axis=0)
    covariance = (1 / (X.shape[0] - 1)) * centred.T.dot(centred)
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    idx = eigenvalues.argsort()[::-1]
    eigenvalues = eigenvalues[idx][:n_components]
    eigenvectors = np.atleast_1d(eigenvectors[:, idx])[:, :n_components]
    return X.dot(eigenvectors), eigenvalues


def polynomial_features(X, degree):
    n_samples, n_features = np.shape(X)
    columns = [np.ones(n_samples)]
    for power in range(1, degree + 1):
        for i in range(n_features):
            columns.append(X[:, i] ** power)
    return np.column_stack(columns)


def main():
    X = np.random.randn(30, 5)
    y = np.random.randint(0, 3, 30)
    targets = to_categorical(y, 3)
    hidden, out = Dense(7, input_shape=(5,)), Dense(3, input_shape=(7,))
    for layer in (hidden, out):
        layer.initialize()
    softmax = Softmax()
    losses = []
    for epoch in range(2):
        for X_batch, y_batch in batch_iterator(X, targets, batch_size=8):
            h = np.tanh(hidden.forward_pass(X_batch))
            p = softmax(out.forward_pass(h))
            loss = -np.mean(np.sum(y_batch * np.log(p + 1e-12), axis=1))
            grad = (p - y_batch) / len(X_batch)
            grad = out.backward_pass(grad) * (1 - h**2)
            hidden.backward_pass(grad)
            losses.append(loss)
    mean_loss = np.mean(losses)
    centroids, labels = kmeans(X, 3)
    projected, variances = pca(X, 2)
    features = polynomial_features(X, 2)
    weights = np.linalg.pinv(features.T @ features) @ features.T @ y
    return mean_loss, centroids, projected, weights


if __name__ == "__main__":
    main()
