#!/bin/bash
# Says something.
log() {
  echo "$1"
}
