#pragma once
#include <zstd.h>
#include <sys/file.h>
#include <sys/stat.h>
