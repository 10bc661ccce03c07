"""Scenes, lenses, contours and clouds of points, as graphics and vision people code them."""

import math
from collections import Counter, deque, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def spheres_traced_by_distance(convert):
    """Signed distances that combine by operators; rays march until they hit, leave or give up."""

    class Shape:
        def distance(self, p):
            raise NotImplementedError(type(self).__name__)

        def __or__(self, other):
            return Combined(self, other, paddle.minimum)

        def __and__(self, other):
            return Combined(self, other, paddle.maximum)

        def __sub__(self, other):
            return Combined(self, other, lambda a, b: paddle.maximum(a, -b))

        def __call__(self, p):
            return self.distance(p)

    class Sphere(Shape):
        def __init__(self, centre, radius):
            self.centre, self.radius = paddle.to_tensor(centre), radius

        def distance(self, p):
            return (p - self.centre).norm() - self.radius

    class Box(Shape):
        def __init__(self, half):
            self.half = paddle.to_tensor(half)

        def distance(self, p):
            q = p.abs() - self.half
            return q.clip(min=0.0).norm() + q.max().clip(max=0.0)

    class Plane(Shape):
        def __init__(self, height):
            self.height = height

        def distance(self, p):
            return p[1] - self.height

    class Combined(Shape):
        def __init__(self, a, b, how):
            self.a, self.b, self.how = a, b, how

        def distance(self, p):
            return self.how(self.a(p), self.b(p))

    def march(scene, origin, direction, far=8.0, eps=1e-3, limit=40):
        t = paddle.to_tensor(0.0)
        for step in range(limit):
            d = scene(origin + t * direction)
            if d < eps:
                return t, step
            t = t + d
            if t > far:
                return None, step
        return None, limit

    def normal(scene, p, h=1e-2):
        n = []
        for i in range(3):
            e = paddle.zeros([3])
            e[i] = h
            n.append(scene(p + e) - scene(p - e))
        n = paddle.stack(n)
        return n / n.norm().clip(min=1e-6)

    @convert
    def shade(scene, origin, direction, light, bounces=1):
        colour = paddle.zeros([])
        weight = 1.0
        for b in range(bounces + 1):
            t, steps = march(scene, origin, direction)
            if t is None:
                colour = colour + weight * 0.1
                break
            p = origin + t * direction
            n = normal(scene, p)
            towards = light - p
            distance = towards.norm()
            towards = towards / distance
            diffuse = (n * towards).sum().clip(min=0.0)
            blocked, _ = march(scene, p + 0.02 * n, towards, far=distance)
            if blocked is not None:
                diffuse = diffuse * 0.3
            colour = colour + weight * diffuse
            direction = direction - 2 * (direction * n).sum() * n
            origin, weight = p + 0.02 * n, weight * 0.5
        return colour, b

    scene = (Box([0.6, 0.6, 0.6]) - Sphere([0.6, 0.6, -0.6], 0.5)) | Plane(-1.0)
    other = Sphere([0.0, 0.0, 0.0], 1.0) & Sphere([0.5, 0.0, 0.0], 1.0)
    light = paddle.to_tensor([2.0, 3.0, -2.0])
    for s, target, bounces in (
        (scene, [0.0, 0.0, 0.0], 0),
        (scene, [0.3, -1.0, 0.0], 1),
        (scene, [0.0, 4.0, 0.0], 1),
        (other, [0.2, 0.1, 0.0], 2),
        (scene, [0.5, 0.5, -0.5], 1),
    ):
        origin = paddle.to_tensor([0.0, 0.5, -3.0])
        direction = paddle.to_tensor(target) - origin
        yield shade(s, origin, direction / direction.norm(), light, bounces)
    yield attempt(lambda: shade(Shape(), origin, direction, light))


@program
def volume_rendered_through_a_grid(convert):
    """Samples along rays with an occupancy grid that skips, stops when opaque, and learns."""

    class Grid:
        def __init__(self, size, decay=0.9, threshold=0.05):
            self.density = paddle.ones([size] * 3)
            self.size, self.decay, self.threshold = size, decay, threshold
            self.updates = 0

        def cell(self, p):
            return ((p + 1) / 2 * self.size).floor().astype("int64").clip(0, self.size - 1)

        def occupied(self, p):
            if p.abs().max() > 1:
                return False
            i, j, k = self.cell(p)
            return self.density[i, j, k] > self.threshold

        def observe(self, p, sigma):
            i, j, k = self.cell(p)
            self.density[i, j, k] = paddle.maximum(self.density[i, j, k] * self.decay, sigma)
            self.updates += 1

    Hit = namedtuple("Hit", ["colour", "depth", "opacity", "evaluated"])

    class Renderer:
        def __init__(self, field, grid, dt=0.2, stop=0.95):
            self.field, self.grid, self.dt, self.stop = field, grid, dt, stop

        @convert
        def __call__(self, o, d, near=1.0, far=4.0, train=False):
            colour, depth = paddle.zeros([2]), paddle.zeros([])
            transmittance = paddle.ones([])
            t = near
            evaluated = 0
            while t < far:
                p = o + t * d
                if not self.grid.occupied(p):
                    t += self.dt
                    continue
                sigma, c = self.field(p)
                evaluated += 1
                if train:
                    self.grid.observe(p, sigma.detach())
                alpha = 1 - paddle.exp(-sigma * self.dt)
                w = transmittance * alpha
                colour = colour + w * c
                depth = depth + w * t
                transmittance = transmittance * (1 - alpha)
                if 1 - transmittance > self.stop:
                    break
                t += self.dt
            return Hit(colour, depth, 1 - transmittance, evaluated)

    def field(p):
        r = p.norm()
        sigma = 20 * F.sigmoid(20 * (0.6 - r))
        return sigma, F.sigmoid(p[:2] * 3)

    @convert
    def picture(renderer, n, train=False):
        rows = []
        for y in range(n):
            for x in range(n):
                d = paddle.to_tensor([(x + 0.5) / n - 0.5, (y + 0.5) / n - 0.5, 1.0])
                rows.append(renderer(paddle.to_tensor([0.0, 0.0, -2.5]), d / d.norm(), train=train))
        used = sum(r.evaluated for r in rows)
        return paddle.stack([r.colour for r in rows]).reshape([n, n, 2]), used

    grid = Grid(4)
    fine, coarse = Renderer(field, grid), Renderer(field, grid, dt=0.5, stop=0.5)
    for r, n, train in ((fine, 2, True), (coarse, 2, False), (fine, 2, True), (fine, 3, False)):
        yield picture(r, n, train)
        yield grid.updates, (grid.density > grid.threshold).sum()
    o = paddle.to_tensor([0.0, 0.1, -2.0], stop_gradient=False)
    hit = fine(o, paddle.to_tensor([0.0, 0.0, 1.0]))
    hit.depth.backward()
    yield hit._asdict(), o.grad


@program
def lens_undistorted_by_iteration(convert):
    """A camera with radial distortion inverted by fixed points; a bilinear remap with fallbacks."""

    @dataclass
    class Camera:
        f: float
        c: tuple
        k: tuple = (0.0, 0.0)
        cache: Any = None

        def distort(self, x, y):
            r2 = x * x + y * y
            s = 1 + self.k[0] * r2 + self.k[1] * r2 * r2
            return x * s, y * s

        def undistort(self, u, v, tol=1e-5, limit=30):
            x0 = (u - self.c[0]) / self.f
            y0 = (v - self.c[1]) / self.f
            x, y = x0, y0
            for i in range(limit):
                r2 = x**2 + y**2
                s = 1 + self.k[0] * r2 + self.k[1] * r2**2
                if (s <= 0.1).any():
                    raise ValueError("outside of the lens")
                nx, ny = x0 / s, y0 / s
                moved = paddle.maximum((nx - x).abs(), (ny - y).abs()).max()
                x, y = nx, ny
                if moved < tol:
                    break
            return x, y, i

        def map(self, h, w):
            if self.cache is not None and self.cache[0] == (h, w):
                return self.cache[1]
            ys, xs = paddle.meshgrid(paddle.arange(h) * 1.0, paddle.arange(w) * 1.0)
            x, y = self.distort((xs - self.c[0]) / self.f, (ys - self.c[1]) / self.f)
            mapping = x * self.f + self.c[0], y * self.f + self.c[1]
            self.cache = ((h, w), mapping)
            return mapping

    def sample(image, y, x, border="constant", fill=0.0):
        h, w = image.shape
        y0, x0 = y.floor(), x.floor()
        fy, fx = y - y0, x - x0
        out = 0
        for dy, wy in ((0, 1 - fy), (1, fy)):
            for dx, wx in ((0, 1 - fx), (1, fx)):
                yy, xx = (y0 + dy).astype("int64"), (x0 + dx).astype("int64")
                inside = (yy >= 0) & (yy < h) & (xx >= 0) & (xx < w)
                value = image[yy.clip(0, h - 1), xx.clip(0, w - 1)]
                if border == "constant" and not inside.all():
                    value = paddle.where(inside, value, paddle.full_like(value, fill))
                out = out + wy * wx * value
        return out

    @convert
    def rectify(camera, image, border="constant"):
        u, v = camera.map(*image.shape)
        warped = sample(image, v, u, border)
        return warped, warped.mean() / image.mean().clip(min=1e-6)

    @convert
    def points(camera, uv):
        x, y, rounds = camera.undistort(uv[:, 0], uv[:, 1])
        bx, by = camera.distort(x, y)
        back = paddle.stack([bx * camera.f + camera.c[0], by * camera.f + camera.c[1]], axis=1)
        error = (back - uv).abs().max()
        assert error < 0.5, f"error of {float(error):.3f} pixels"
        return paddle.stack([x, y], axis=1), rounds

    rng = np.random.RandomState(1)
    mild, strong = Camera(4.0, (2.5, 2.0), (0.1, 0.01)), Camera(3.0, (2.0, 2.0), (-0.3, 0.05))
    for camera, h, w, border in (
        (mild, 5, 6, "constant"),
        (strong, 5, 5, "edge"),
        (mild, 5, 6, "edge"),
        (mild, 4, 5, "constant"),
    ):
        yield rectify(camera, paddle.to_tensor(rng.rand(h, w).astype("float32")), border)
        yield camera.cache[0]
    for camera, n in ((mild, 3), (strong, 4), (mild, 5), (Camera(4.0, (2.0, 2.0)), 2)):
        yield attempt(
            lambda: points(camera, paddle.to_tensor(rng.rand(n, 2).astype("float32") * 5))
        )
    yield attempt(lambda: points(Camera(1.0, (0, 0), (-2.0, 0.0)), paddle.ones([2, 2])))


@program
def contours_followed_around_blobs(convert):
    """Moore neighbours walked around each blob; simplified by Douglas-Peucker; areas and turns."""

    RING = [(0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1)]

    class Contour:
        def __init__(self, points):
            self.points = points

        def __len__(self):
            return len(self.points)

        def __iter__(self):
            yield from self.points

        @property
        def area(self):
            total = 0.0
            for (y0, x0), (y1, x1) in zip(self.points, self.points[1:] + self.points[:1]):
                total += x0 * y1 - x1 * y0
            return abs(total) / 2

        @property
        def box(self):
            ys, xs = zip(*self.points)
            return min(ys), min(xs), max(ys), max(xs)

    def follow(image, start, limit=60):
        h, w = image.shape
        y, x = start
        points = [start]
        facing = 0
        for _ in range(limit):
            for turn in range(8):
                k = (facing + turn) % 8
                ny, nx = y + RING[k][0], x + RING[k][1]
                if 0 <= ny < h and 0 <= nx < w and image[ny, nx]:
                    y, x = ny, nx
                    facing = (k + 5) % 8
                    break
            else:
                break
            if (y, x) == start:
                break
            points.append((y, x))
        return Contour(points)

    def simplify(points, eps):
        if len(points) < 3:
            return points
        (y0, x0), (y1, x1) = points[0], points[-1]
        worst, at = 0.0, 0
        for i, (y, x) in enumerate(points[1:-1], 1):
            length = math.hypot(y1 - y0, x1 - x0)
            if length == 0:
                d = math.hypot(y - y0, x - x0)
            else:
                d = abs((y1 - y0) * x - (x1 - x0) * y + x1 * y0 - y1 * x0) / length
            if d > worst:
                worst, at = d, i
        if worst <= eps:
            return [points[0], points[-1]]
        return simplify(points[: at + 1], eps)[:-1] + simplify(points[at:], eps)

    @convert
    def contours(image, threshold, smallest=2):
        mask = image > threshold
        seen = paddle.zeros_like(mask)
        h, w = mask.shape
        found = []
        for y in range(h):
            for x in range(w):
                if mask[y, x] and not seen[y, x]:
                    queue = deque([(y, x)])
                    seen[y, x] = True
                    size = 0
                    while queue:
                        cy, cx = queue.popleft()
                        size += 1
                        for dy, dx in RING:
                            ny, nx = cy + dy, cx + dx
                            if 0 <= ny < h and 0 <= nx < w and mask[ny, nx] and not seen[ny, nx]:
                                seen[ny, nx] = True
                                queue.append((ny, nx))
                    if size >= smallest:
                        found.append(follow(mask, (y, x)))
        return [(c.points, c.area, c.box) for c in found]

    rng = np.random.RandomState(6)
    for n, threshold in ((3, 0.5), (4, 0.6), (3, 0.5)):
        image = paddle.to_tensor(rng.rand(n, n).astype("float32"))
        for points, area, box in contours(image, threshold):
            yield points, area, box, simplify(points, 0.5)
    yield contours(paddle.zeros([3, 3]), 0.5)


@program
def farthest_points_and_ball_queries(convert):
    """PointNet++ sampling and grouping: farthest points, balls with fallbacks, interpolation."""

    class SetAbstraction(paddle.nn.Layer):
        def __init__(self, points, radius, most, channels):
            super().__init__()
            self.points, self.radius, self.most = points, radius, most
            self.mlp = paddle.nn.Sequential(
                paddle.nn.Linear(channels[0] + 3, channels[1]), paddle.nn.ReLU()
            )

        def sample(self, xyz, start=0):
            n = min(self.points, xyz.shape[0])
            far = paddle.full([xyz.shape[0]], float("inf"))
            chosen = []
            current = paddle.to_tensor(start)
            for _ in range(n):
                chosen.append(current)
                d = ((xyz - xyz[current]) ** 2).sum(-1)
                far = paddle.minimum(far, d)
                if far.max() < 1e-8:
                    break
                current = far.argmax()
            return paddle.stack(chosen)

        def ball(self, xyz, centre):
            d = (xyz - centre).norm(axis=-1)
            inside = paddle.nonzero(d <= self.radius).flatten()
            if inside.shape[0] == 0:
                inside = d.argmin().unsqueeze(0)
            if inside.shape[0] > self.most:
                inside = inside[paddle.argsort(d[inside])[: self.most]]
            return inside

        def forward(self, xyz, features=None):
            picked = self.sample(xyz)
            groups, sizes = [], []
            for centre in xyz[picked]:
                members = self.ball(xyz, centre)
                local = xyz[members] - centre
                if features is not None:
                    local = paddle.concat([local, features[members]], axis=1)
                groups.append(self.mlp(local).max(axis=0))
                sizes.append(members.shape[0])
            return xyz[picked], paddle.stack(groups), sizes

    class Propagate:
        def __init__(self, k=3):
            self.k = k

        def __call__(self, xyz, known, features):
            if known.shape[0] == 1:
                return features.expand([xyz.shape[0], -1])
            d = paddle.cdist(xyz, known)
            near, idx = d.topk(min(self.k, known.shape[0]), largest=False)
            w = 1 / (near + 1e-8)
            w = w / w.sum(-1, keepdim=True)
            return (features[idx] * w.unsqueeze(-1)).sum(1)

    paddle.seed(6)
    down = SetAbstraction(4, 0.5, 3, (0, 4))
    deeper = SetAbstraction(2, 1.0, 4, (4, 5))
    up = Propagate()
    census = Counter()

    @convert
    def segment(xyz):
        p1, f1, s1 = down(xyz)
        p2, f2, s2 = deeper(p1, f1)
        census.update(s1)
        back = up(p1, p2, f2)
        out = up(xyz, p1, paddle.concat([f1, back], axis=1))
        return out, s1, s2

    rng = np.random.RandomState(2)
    for n in (8, 6, 10, 8):
        xyz = paddle.to_tensor(rng.rand(n, 3).astype("float32"))
        out, s1, s2 = segment(xyz)
        out.square().mean().backward()
        yield out, s1, s2, down.mlp[0].weight.grad
        down.clear_gradients()
    yield segment(paddle.ones([3, 3]))
    yield dict(census)


@program
def kd_tree_with_pruned_search(convert):
    """A tree built by medians, searched recursively with pruning; radius queries by a generator."""

    class Node:
        __slots__ = ("index", "axis", "left", "right")

        def __init__(self, index, axis, left, right):
            self.index, self.axis, self.left, self.right = index, axis, left, right

        @property
        def leaf(self):
            return self.left is None and self.right is None

    class Tree:
        def __init__(self, points):
            self.points = points
            self.root = self.build(list(range(points.shape[0])), 0)
            self.visited = 0

        def build(self, rows, depth):
            if not rows:
                return None
            axis = depth % self.points.shape[1]
            rows.sort(key=lambda i: float(self.points[i, axis]))
            m = len(rows) // 2
            return Node(
                rows[m], axis, self.build(rows[:m], depth + 1), self.build(rows[m + 1 :], depth + 1)
            )

        def nearest(self, q):
            best = [None, float("inf")]

            def visit(node):
                if node is None:
                    return
                self.visited += 1
                p = self.points[node.index]
                d = ((p - q) ** 2).sum()
                if d < best[1]:
                    best[0], best[1] = node.index, d
                gap = q[node.axis] - p[node.axis]
                near, far = (node.left, node.right) if gap < 0 else (node.right, node.left)
                visit(near)
                if gap**2 < best[1]:
                    visit(far)

            visit(self.root)
            return best[0], best[1]

        def within(self, q, r, node=None):
            node = node or self.root
            if ((self.points[node.index] - q) ** 2).sum() <= r * r:
                yield node.index
            gap = q[node.axis] - self.points[node.index, node.axis]
            if node.left is not None and gap <= r:
                yield from self.within(q, r, node.left)
            if node.right is not None and gap >= -r:
                yield from self.within(q, r, node.right)

    @convert
    def query(tree, q, radius=None):
        index, distance = tree.nearest(q)
        close = []
        if radius is not None:
            close = sorted(tree.within(q, radius))
        return index, distance, close

    @convert
    def build(points):
        if points.shape[0] == 0:
            raise ValueError("no points")
        return Tree(points)

    rng = np.random.RandomState(3)
    for n in (3, 5, 3):
        tree = Tree(paddle.to_tensor(rng.rand(n, 2).astype("float32")))
        for radius in (None, 0.3, 0.8):
            yield query(tree, paddle.to_tensor(rng.rand(2).astype("float32")), radius)
        yield tree.visited
    built = build(paddle.to_tensor(rng.rand(3, 2).astype("float32")))
    yield built.root.index, built.root.leaf, built.nearest(paddle.zeros([2]))
    yield attempt(lambda: build(paddle.zeros([0, 2])))
