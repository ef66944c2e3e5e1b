import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const mount = (...argv: string[]): boolean => spawnSync('mount', argv).status === 0

/** Why a test can have no disk of its own; nothing when it can. */
export const noDisk: string | undefined = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root can mount a disk'
  const place = newPlace()
  const mounted = mount('-t', 'tmpfs', 'none', place)
  drop(place)
  return mounted ? undefined : 'this system lets nobody mount'
})()

/** A small disk, with what can happen to it. Gone when the test ends. */
export function smallDisk(t: TestContext, size = '256k') {
  const place = newPlace()
  t.after(() => drop(place))
  mount('-t', 'tmpfs', '-o', `size=${size},mode=700`, 'none', place)
  const filler = join(place, 'filler')
  return {
    place,
    /** Makes it so large. */
    resize: (to: string) => mount('-o', `remount,size=${to}`, place),
    faults: {
      full: {
        begin: () => fill(filler),
        end: () => unlinkSync(filler),
      },
      'read-only': {
        begin: () => mount('-o', 'remount,ro', place),
        end: () => mount('-o', 'remount,rw', place),
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

function newPlace(): string {
  return mkdtempSync(join(tmpdir(), 'sallyport-disk-'))
}

function drop(place: string): void {
  spawnSync('umount', ['--lazy', place])
  rmSync(place, { recursive: true, force: true })
}
