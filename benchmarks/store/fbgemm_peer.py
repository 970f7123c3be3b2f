#!/usr/bin/env python3
"""FBGEMM's table-batched embedding on one CPU thread, beside what bench-store measured.

    fbgemm_peer.py OUTPUT [--seconds S]

OUTPUT is a file with the output of bench-store. Prints two figures in its form: lookup against
FBGEMM's forward pass, and lookup and update together against its forward and backward pass, which
contains the update. Same rows, dim, batch and row-wise Adagrad in fp32; no duplicates, bags of one
id (a little faster than without pooling). FBGEMM has no hash table: ids are row numbers. Times are
processor seconds of the process, medians over batches, as bench-store's.

Needs torch, fbgemm-gpu-cpu and numpy: scripts/bench.sh --peers store installs them.
"""

import argparse
import re
import statistics
import sys
import time

import numpy
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    SplitTableBatchedEmbeddingBagsCodegen,
)


def read_satrap(lines):
    """(rows, dim, batch), lookup and update rates of bench-store's first table."""
    workload, rates = None, {}
    for line in lines:
        head = re.match(r"# (\d+) rows of dim (\d+), fp32, row-wise Adagrad; batches of (\d+)", line)
        if head and workload is None:
            workload = tuple(map(int, head.groups()))
        fields = line.split(",")
        if fields[0] == "bench" and fields[1] in ("store-lookup", "store-update"):
            rates.setdefault(fields[1], float(fields[2]))
    if workload is None or len(rates) != 2:
        sys.exit("fbgemm_peer.py: this is not an output of bench-store")
    return workload, rates["store-lookup"], rates["store-update"]


def make_table(rows, dim):
    table = SplitTableBatchedEmbeddingBagsCodegen(
        embedding_specs=[(rows, dim, EmbeddingLocation.HOST, ComputeDevice.CPU)],
        optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD,
        learning_rate=0.01,
        eps=1e-8,
        pooling_mode=PoolingMode.SUM,
    )
    table.init_embedding_weights_uniform(-0.01, 0.01)
    return table


def measure(table, rows, dim, batch, seconds):
    """Median rows per second of forward, and of forward and backward."""
    random = numpy.random.default_rng(7)
    part = rows // batch
    offsets = torch.arange(batch + 1, dtype=torch.int64)
    gradient = torch.rand(batch, dim) - 0.5
    forward, both = [], []
    warm_up, spent = 3, 0.0
    while spent < seconds or not both:
        # One row from each of `batch` equal parts, in random order: distinct and uniform.
        ids = numpy.arange(batch) * part + random.integers(0, part, batch)
        random.shuffle(ids)
        ids = torch.from_numpy(ids)
        start = time.process_time()
        output = table(ids, offsets)
        between = time.process_time()
        output.backward(gradient)
        end = time.process_time()
        if warm_up > 0:
            warm_up -= 1
            continue
        spent += end - start
        forward.append(batch / (between - start))
        both.append(batch / (end - start))
    return statistics.median(forward), statistics.median(both)


def print_figure(name, value, peer, peer_value):
    print(f"bench,{name},{value:.0f},rows/s,{peer},{peer_value:.0f},{value / peer_value:.3f},-")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output")
    parser.add_argument("--seconds", type=float, default=2, help="to measure for")
    arguments = parser.parse_args()
    with open(arguments.output) as lines:
        (rows, dim, batch), lookup, update = read_satrap(lines)
    torch.set_num_threads(1)
    table = make_table(rows, dim)
    forward, both = measure(table, rows, dim, batch, arguments.seconds)
    print(f"# fbgemm_gpu on torch {torch.__version__}, one thread")
    print_figure("store-lookup", lookup, "fbgemm-forward", forward)
    together = 1 / (1 / lookup + 1 / update)
    print_figure("store-lookup-and-update", together, "fbgemm-forward-and-backward", both)


if __name__ == "__main__":
    main()
