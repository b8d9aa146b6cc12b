from shapelint.ops.op import Op

OPS: tuple[Op, ...] = ()
