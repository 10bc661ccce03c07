def f(self, x, i):
    self.queue[i] = x
    cache = [x, {"k": x}]
    cache[1]["k"][0, :2] = 5
    cache[0][i], i = x, 1
    return cache
