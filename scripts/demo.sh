#!/usr/bin/env bash
# From a bare Debian 12 to a trained model: installs what is missing, builds, makes a data set, trains a DLRM
# with 2 embedding servers and 2 trainers under mpirun, evaluates it, and tells where everything is.
#   scripts/demo.sh [FOLDER]     the data and the run go to FOLDER (demo by default)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-demo}
bin=build/release/bin

echo "== building (the first time takes some minutes)"
scripts/build.sh release satrap satrap-tool

echo "== making data: 500,000 samples to train on, 100,000 to evaluate on"
mkdir -p "$folder"
$bin/satrap-tool make-data --train "$folder/train.tsv" --valid "$folder/valid.tsv"

echo "== training: 2 embedding servers, 2 trainers"
rm -rf "$folder/run"
scripts/mpirun.sh --oversubscribe --bind-to none -n 4 $bin/satrap train configs/demo.ini \
  --data.train="$folder/train.tsv" --data.valid="$folder/valid.tsv" --job.run_dir="$folder/run"

echo "config.ini, log.txt, metrics.jsonl, summary.json and checkpoints/ are in $folder/run"
