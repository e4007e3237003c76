#!/usr/bin/env python3
"""Data-parallel training of a neural network: gradients are summed layer by layer while the backward pass goes on.

Every rank has a part of each batch. The backward pass gives the gradient of the last layer first; its MPI_Iallreduce starts at once
and travels while the layers before it are computed. It is waited for just before that layer is used again, in the next forward pass.
With --mode blocking each gradient is summed by MPI_Allreduce where it appears.

The first layer's gradient comes last and is needed first, so nothing hides its sum, and it is often the longest. With --pieces each
layer has so many blocks of rows, of which each is computed, summed and used by itself: a sum travels behind the blocks after it and, in
the next forward pass, behind those before it.

Plain MPI by mpi4py; numpy computes. In the end rank 0's weights are compared with those of all ranks, and with a training of the whole
batch by one rank alone.
"""

import argparse
import json
import os
import statistics
import sys

# One rank, one core.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
import numpy  # noqa: E402
from mpi4py import MPI  # noqa: E402

RATE = numpy.float32(0.05)


class Batches:
    """Random points, and their values in a network with random weights."""

    def __init__(self, options, ranks):
        generator = numpy.random.default_rng(17)
        self.ranks = ranks
        self.samples = generator.standard_normal((options.steps, ranks * options.batch, options.layers[0]), numpy.float32)
        truth = generator.standard_normal((options.layers[0], options.layers[-1]), numpy.float32)
        self.labels = (self.samples @ truth).argmax(axis=2)

    def part(self, step, rank):
        length = self.samples.shape[1] // self.ranks
        mine = slice(rank * length, (rank + 1) * length)
        return self.samples[step, mine], self.labels[step, mine]


class Network:
    """Layers of weights, with the biases in the last row. Rectified; the last layer is a softmax. A piece is a block of rows of a layer."""

    def __init__(self, layers, pieces=1):
        generator = numpy.random.default_rng(4)
        self.weights = [generator.standard_normal((before + 1, after), numpy.float32) * numpy.float32((2 / before) ** 0.5)
                        for before, after in zip(layers, layers[1:])]
        self.gradients = [numpy.zeros_like(weights) for weights in self.weights]
        self.pieces = []
        for before in layers[:-1]:
            edges = [before * i // min(pieces, before) for i in range(min(pieces, before) + 1)]
            # The biases go with the last one.
            self.pieces.append([slice(begin, end + (end == before)) for begin, end in zip(edges, edges[1:])])

    def parts(self):
        """All pieces, in the order in which the forward pass uses them."""
        return [(layer, rows) for layer, pieces in enumerate(self.pieces) for rows in pieces]

    def product(self, layer, values, ready):
        """values times weights, with the biases, piece by piece."""
        weights = self.weights[layer]
        inputs = len(weights) - 1
        total = None
        for rows in self.pieces[layer]:
            ready(layer, rows)
            end = min(rows.stop, inputs)
            part = values[:, rows.start:end] @ weights[rows.start:end]
            if rows.stop > inputs:
                part += weights[-1]
            if total is None:
                total = part
            else:
                total += part
        return total

    def forward(self, samples, ready=lambda layer, rows: None):
        """Calls ready(layer, rows) before the first use of these weights."""
        self.inputs = []
        values = samples
        for layer in range(len(self.weights)):
            self.inputs.append(values)
            values = self.product(layer, values, ready)
            if layer + 1 < len(self.weights):
                values = numpy.maximum(values, 0)
        shares = numpy.exp(values - values.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def backward(self, shares, labels, whole_batch, found=lambda layer, rows: None):
        """Calls found(layer, rows) when that gradient is complete, last layer first."""
        error = shares.copy()
        error[numpy.arange(len(labels)), labels] -= 1
        error /= numpy.float32(whole_batch)
        for layer in reversed(range(len(self.weights))):
            gradient = self.gradients[layer]
            inputs = len(gradient) - 1
            for rows in self.pieces[layer]:
                end = min(rows.stop, inputs)
                numpy.matmul(self.inputs[layer][:, rows.start:end].T, error, out=gradient[rows.start:end])
                if rows.stop > inputs:
                    gradient[-1] = error.sum(axis=0)
                found(layer, rows)
            if layer > 0:
                error = (error @ self.weights[layer][:-1].T) * (self.inputs[layer] > 0)

    def update(self, layer, rows=slice(None)):
        self.weights[layer][rows] -= RATE * self.gradients[layer][rows]


class Training:
    def __init__(self, options, batches, comm):
        self.options = options
        self.batches = batches
        self.comm = comm
        self.plant = False

    def prepare(self):
        self.network = Network(self.options.layers, self.options.pieces)

    def run(self, compute=True, communicate=True):
        network = self.network
        requests = {(layer, rows.start): MPI.REQUEST_NULL for layer, rows in network.parts()}
        self.waited = self.summed = 0.0

        def found(layer, rows):
            part = network.gradients[layer][rows]
            began = MPI.Wtime()
            if communicate and self.options.mode == "blocking":
                self.comm.Allreduce(MPI.IN_PLACE, part)
            elif communicate:
                requests[layer, rows.start] = self.comm.Iallreduce(MPI.IN_PLACE, part)
            self.summed += MPI.Wtime() - began

        def complete(layer, rows):
            began = MPI.Wtime()
            requests[layer, rows.start].Wait()
            self.waited += MPI.Wtime() - began
            if self.plant:
                network.gradients[layer][rows][0, 0] += 1
                self.plant = False
            if compute:
                network.update(layer, rows)

        for step in range(self.options.steps):
            samples, labels = self.batches.part(step, self.comm.rank)
            ready = complete if step > 0 else lambda layer, rows: None
            if compute:
                shares = network.forward(samples, ready)
                network.backward(shares, labels, self.batches.samples.shape[1], found)
            else:
                for part in network.parts():
                    ready(*part)
                for layer in reversed(range(len(network.pieces))):
                    for rows in network.pieces[layer]:
                        # Computation brings the ranks together again. Otherwise one rank begins while the other's last data is in flight, and a
                        # long sum's directions may take turns, so that it takes twice as long as in the program.
                        self.comm.Barrier()
                        found(layer, rows)
        for part in network.parts():
            complete(*part)

    def errors(self):
        """The largest difference from rank 0's weights, which must be 0, and from the weights that one rank alone finds."""
        alone = Network(self.options.layers)
        for step in range(self.options.steps):
            sums = [numpy.zeros_like(gradient) for gradient in alone.gradients]
            for rank in range(self.comm.size):
                samples, labels = self.batches.part(step, rank)
                alone.backward(alone.forward(samples), labels, self.batches.samples.shape[1])
                for total, gradient in zip(sums, alone.gradients):
                    total += gradient
            alone.gradients = sums
            for layer in range(len(sums)):
                alone.update(layer)
        among = 0.0
        against = 0.0
        for mine, serial in zip(self.network.weights, alone.weights):
            first = mine.copy()
            self.comm.Bcast(first)
            among = max(among, float(numpy.abs(mine - first).max()))
            against = max(against, float(numpy.abs(mine - serial).max()))
        return among, against


def timed(comm, training, **parts):
    training.prepare()
    comm.Barrier()
    began = MPI.Wtime()
    training.run(**parts)
    return comm.allreduce(MPI.Wtime() - began, MPI.MAX)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not positive")
    return value


def main():
    comm = MPI.COMM_WORLD
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=lambda text: [positive(word) for word in text.split(",")],
                        default=[784, 1024, 512, 256, 10], metavar="N,...", help="usually 784,1024,512,256,10")
    parser.add_argument("--batch", type=positive, default=64, metavar="N", help="samples of each rank; usually 64")
    parser.add_argument("--steps", type=positive, default=10, metavar="N", help="usually 10")
    parser.add_argument("--pieces", type=positive, default=1, metavar="N", help="blocks of rows of each layer, whose sums are hidden by each "
                        "other's computation; usually 1")
    parser.add_argument("--mode", choices=["blocking", "nonblocking"], default="nonblocking")
    parser.add_argument("--repeat", type=positive, default=1, metavar="N", help="repetitions, each timed and checked")
    parser.add_argument("--bound", action="store_true", help="also time the computation and the communication alone")
    parser.add_argument("--plant-error", action="store_true",
                        help="change one received number in the last repetition: the program must notice and fail")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quick", action="store_true", help="a small network")
    # Only rank 0 prints.
    speaker = sys.stdout, sys.stderr
    if comm.rank != 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")
    options = parser.parse_args()
    sys.stdout, sys.stderr = speaker
    if options.quick:
        options.layers, options.batch, options.steps = [50, 40, 30, 10], 8, 3
    if len(options.layers) < 2:
        parser.error("--layers needs two numbers")

    batches = Batches(options, comm.size)
    training = Training(options, batches, comm)
    times = {"seconds": [], "computing": [], "communicating": []}
    phases = {"sums": [], "wait": []}
    among = against = 0.0
    for repetition in range(options.repeat):
        training.plant = options.plant_error and comm.rank == comm.size - 1 and repetition == options.repeat - 1
        times["seconds"].append(timed(comm, training))
        for name, seconds in (("sums", training.summed), ("wait", training.waited)):
            phases[name].append(comm.allreduce(seconds, MPI.MAX))
        among, against = (max(pair) for pair in zip((among, against), training.errors()))
        if options.bound:
            times["computing"].append(timed(comm, training, communicate=False))
            times["communicating"].append(timed(comm, training, compute=False))
    among, against = (comm.allreduce(value, MPI.MAX) for value in (among, against))
    # NaN compares as wrong. Sums in another order round differently.
    passed = among == 0 and against < 1e-4
    if comm.rank == 0:
        size = 4 * sum(weights.size for weights in training.network.weights)
        result = {"app": "gradients", "variant": options.mode, "ranks": comm.size,
                  "sizes": {"layers": options.layers, "batch": options.batch, "steps": options.steps, "pieces": options.pieces,
                            "bytes": size},
                  **{name: values for name, values in times.items() if values}, "phases": phases,
                  "results": {}, "verification": {"passed": passed, "error": max(among, against)}}
        if options.json:
            print(json.dumps(result), flush=True)
        else:
            print(f"gradients, {options.mode}, {comm.size} ranks: layers {options.layers}, {size} bytes of gradients, "
                  f"{options.steps} steps, layers in {options.pieces} pieces")
            for name, values in times.items():
                if values:
                    print(f"  {statistics.median(values):.4f} s {name}")
            print(f"  verification {'passed' if passed else 'FAILED'}: differences of {among:.2g} among ranks, {against:.2g} "
                  "from one rank alone", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
