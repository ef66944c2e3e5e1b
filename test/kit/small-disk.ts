import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const mount = (...argv: string[]): boolean => spawnSync('mount', argv).status === 0

/** Why a test cannot have a disk of its own; undefined when it can. */
export const noDisk: string | undefined = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root can mount a disk'
  const mountPoint = newMountPoint()
  const mounted = mount('-t', 'tmpfs', 'none', mountPoint)
  unmount(mountPoint)
  return mounted ? undefined : 'this system does not let root mount'
})()

/** Mounts a small disk, with its faults. Unmounted when the test ends. */
export function smallDisk(t: TestContext, size = '256k') {
  const mountPoint = newMountPoint()
  t.after(() => unmount(mountPoint))
  mount('-t', 'tmpfs', '-o', `size=${size},mode=700`, 'none', mountPoint)
  const filler = join(mountPoint, 'filler')
  return {
    mountPoint,
    /** Changes its size. */
    resize: (to: string) => mount('-o', `remount,size=${to}`, mountPoint),
    faults: {
      full: {
        begin: () => fill(filler),
        end: () => unlinkSync(filler),
      },
      'read-only': {
        begin: () => mount('-o', 'remount,ro', mountPoint),
        end: () => mount('-o', 'remount,rw', mountPoint),
      },
    },
  } as const
}

function fill(path: string): void {
  const file = openSync(path, 'a')
  try {
    for (;;) writeSync(file, Buffer.alloc(4096))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  } finally {
    closeSync(file)
  }
}

function newMountPoint(): string {
  return mkdtempSync(join(tmpdir(), 'sallyport-disk-'))
}

function unmount(mountPoint: string): void {
  spawnSync('umount', ['--lazy', mountPoint])
  rmSync(mountPoint, { recursive: true, force: true })
}
