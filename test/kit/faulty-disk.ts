import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folder } from './folder.js'

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_disk(void) {
  const char *ms = getenv("TEST_SYNC_MS");
  if (ms) usleep(atoi(ms) * 1000);
}

int fsync(int file) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  const char *fault = getenv("TEST_READ_ONLY");
  if (fault && access(fault, F_OK) == 0) {
    errno = EROFS;
    return -1;
  }
  return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(file, bytes, size, at);
}
`

/** Why a test cannot have a faulty disk; undefined when it can. */
export const noCompiler: string | undefined =
  process.platform === 'linux' && spawnSync('gcc', ['--version']).status === 0
    ? undefined
    : 'a faulty disk needs Linux and gcc'

/** An environment in which each sync takes `syncMs`, and in which writes can fail as on a read-only disk. */
export function faultyDisk(t: TestContext, { syncMs = 0 }: { readonly syncMs?: number } = {}) {
  const build = folder(t, { 'disk.c': SOURCE })
  const library = join(build, 'disk.so')
  const { status, stderr } = spawnSync('gcc', [
    '-shared',
    '-fPIC',
    '-o',
    library,
    join(build, 'disk.c'),
    '-ldl',
  ])
  if (status !== 0) throw new Error(`gcc failed: ${stderr}`)
  const fault = join(build, 'read-only')
  return {
    environment: {
      LD_PRELOAD: library,
      TEST_READ_ONLY: fault,
      ...(syncMs > 0 && { TEST_SYNC_MS: String(syncMs) }),
    },
    readOnly: {
      begin: () => writeFileSync(fault, ''),
      end: () => rmSync(fault, { force: true }),
    },
  } as const
}
