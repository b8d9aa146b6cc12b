"""Many files: which are linted, what their imports mean, what need not be linted again."""
