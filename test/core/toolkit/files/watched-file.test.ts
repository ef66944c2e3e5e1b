import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WatchedFile, type WatchedFileOptions } from 'sallyport/toolkit'
import { capturedLog, eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { ownSources } from '#kit/own-sources.js'

// So that a change seen by polling is not taken for one seen by a watcher.
const withoutPoll = { pollEvery: 3_600_000 }

test('a file is read when it is opened, and again when it is written in place', async (t) => {
  const file = fileWith(t, 'one')
  const watched = watching(t, file)
  const seen: string[] = []
  watched.onChange((text) => seen.push(text))
  assert.equal(watched.text, 'one')

  writeFileSync(file, 'two')

  await becomes(watched, 'two')
  assert.deepEqual(seen, ['two'])
})

test('a file that is renamed over is read again, each time', async (t) => {
  const file = fileWith(t, '0')
  const watched = watching(t, file)

  for (const text of ['1', '2', '3']) {
    writeFileSync(`${file}.next`, text)
    renameSync(`${file}.next`, file)
    await becomes(watched, text)
  }
})

test('a swap behind a symlink, as Kubernetes does it, is seen the first time and every time', async (t) => {
  const place = folder(t)
  const publish = (version: string) => {
    mkdirSync(join(place, `..${version}`))
    writeFileSync(join(place, `..${version}`, 'token'), version)
    symlinkSync(`..${version}`, join(place, '..data_tmp'))
    renameSync(join(place, '..data_tmp'), join(place, '..data'))
  }
  publish('v1')
  symlinkSync('..data/token', join(place, 'token'))
  const watched = watching(t, join(place, 'token'))

  for (const version of ['v2', 'v3', 'v4']) {
    publish(version)
    await becomes(watched, version)
    rmSync(join(place, `..v${Number(version.slice(1)) - 1}`), { recursive: true })
  }
})

test('links to other folders are followed, and so are swaps of a parent folder', async (t) => {
  const [near, far] = [folder(t), folder(t)]
  for (const version of ['v1', 'v2', 'v3']) {
    mkdirSync(join(far, version))
    writeFileSync(join(far, version, 'file'), version)
  }
  symlinkSync('v1', join(far, 'current'))
  symlinkSync(join(far, 'current', 'file'), join(near, 'file'))
  const watched = watching(t, join(near, 'file'))
  await becomes(watched, 'v1')

  for (const version of ['v2', 'v3']) {
    symlinkSync(version, join(far, 'next'))
    renameSync(join(far, 'next'), join(far, 'current'))
    await becomes(watched, version)
    writeFileSync(join(far, version, 'file'), `${version} again`)
    await becomes(watched, `${version} again`)
  }
})

test('a file that vanishes keeps its last content, is logged once, and is read when it is back', async (t) => {
  const { log, lines, until } = capturedLog()
  const file = fileWith(t, 'one')
  const watched = watching(t, file, { log })

  rmSync(file)
  await until(/ENOENT/)
  // A second file that has seen three changes shows that this folder was checked three times.
  writeFileSync(`${file}.other`, '')
  const neighbour = watching(t, `${file}.other`)
  for (const text of ['1', '2', '3']) {
    writeFileSync(`${file}.other`, text)
    await becomes(neighbour, text)
  }
  assert.equal(watched.text, 'one')
  writeFileSync(file, 'two')
  await becomes(watched, 'two')

  assert.equal(lines.filter((line) => line.includes('"level":"warn"')).length, 1)
  assert.equal(lines.filter((line) => line.includes('readable again')).length, 1)
})

test('a folder that is removed and made again is watched again', async (t) => {
  const place = join(folder(t), 'inner')
  const file = join(place, 'file')
  mkdirSync(place)
  writeFileSync(file, 'one')
  const { log, until } = capturedLog()
  const watched = watching(t, file, { log, pollEvery: 50 })

  rmSync(place, { recursive: true })
  await until(/ENOENT/)
  mkdirSync(place)
  writeFileSync(file, 'two')

  await becomes(watched, 'two')
})

test('invalid content makes `open` throw, and later changes nothing and calls no listener', async (t) => {
  const { log, lines, until } = capturedLog()
  const file = fileWith(t, '')
  const check = (text: string) => {
    if (!text.endsWith('.')) throw new Error('unfinished')
  }
  assert.throws(() => WatchedFile.open(file, { check }), /unfinished/)
  writeFileSync(file, 'one.')
  const watched = watching(t, file, { check, log })

  writeFileSync(file, 'canary')
  await until(/unfinished/)

  assert.equal(watched.text, 'one.')
  assert.doesNotMatch(lines.join(), /canary/)
})

test('a file that is written bit by bit is used when it is complete', async (t) => {
  const file = fileWith(t, 'old')
  const watched = watching(t, file)
  const seen: string[] = []
  watched.onChange((text) => seen.push(text))

  let text = ''
  const writing = setInterval(() => {
    text += 'x'
    writeFileSync(file, text)
    if (text.length === 40) clearInterval(writing)
  }, 5)
  t.after(() => clearInterval(writing))

  await becomes(watched, 'x'.repeat(40))
  assert.deepEqual(seen, ['x'.repeat(40)])
})

test('neither a removed listener nor any listener after `close` is called', async (t) => {
  const file = fileWith(t, 'one')
  const watched = watching(t, file)
  const closed = watching(t, file)
  const seen: string[] = []
  watched.onChange((text) => seen.push(`off ${text}`))()
  closed.onChange((text) => seen.push(`closed ${text}`))
  closed.close()

  writeFileSync(file, 'two')

  await becomes(watched, 'two')
  assert.deepEqual(seen, [])
  assert.equal(closed.text, 'one')
})

test('a missing file or a folder is FILE_UNREADABLE with its path and the reason', (t) => {
  const place = folder(t)

  assert.throws(() => WatchedFile.open(join(place, 'none')), {
    code: 'FILE_UNREADABLE',
    message: `cannot read ${join(place, 'none')}: there is no such file (ENOENT)`,
  })
  assert.throws(() => WatchedFile.open(place), { code: 'FILE_UNREADABLE' })
})

test('a file that becomes a pipe blocks no read', { skip: process.platform === 'win32' }, async (t) => {
  const file = fileWith(t, 'one')
  const { log, until } = capturedLog()
  const watched = watching(t, file, { log })

  rmSync(file)
  spawnSync('mkfifo', [file])
  await until(/no file \(ERR_NO_FILE\)/)
  assert.equal(watched.text, 'one')

  writeFileSync(`${file}.next`, 'two')
  renameSync(`${file}.next`, file)
  await becomes(watched, 'two')
})

test('a pipe is read at the start, and opening it again fails at once', {
  skip: process.platform === 'win32',
}, (t) => {
  const pipe = join(folder(t, {}), 'pipe')
  spawnSync('mkfifo', [pipe])
  spawn('sh', ['-c', 'echo one > "$0"', pipe])

  assert.equal(watching(t, pipe).text, 'one\n')
  assert.throws(() => WatchedFile.open(pipe), { code: 'FILE_UNREADABLE', message: /cannot be read again/ })
})

test('a file that is too large stops the start, and later its last content is kept', async (t) => {
  const file = fileWith(t, 'one')
  const { log, until } = capturedLog()
  const watched = watching(t, file, { log, secret: true })

  truncateSync(file, 2 ** 20 + 1)
  const line = await until(/1048577 bytes/)
  assert.match(line, /expected at most 1048576/)
  assert.equal(watched.text, 'one')
  assert.throws(() => WatchedFile.open(file, { secret: true }), {
    code: 'FILE_UNREADABLE',
    message: `cannot read ${file}: it has 1048577 bytes, expected at most 1048576`,
  })

  watching(t, file)
  truncateSync(file, 2 ** 24 + 1)
  assert.throws(() => WatchedFile.open(file), { code: 'FILE_UNREADABLE' })
  writeFileSync(file, 'two')
  await becomes(watched, 'two')
})

test('a watched file keeps no process alive', (t) => {
  const file = fileWith(t, 'one')
  const script = `import { WatchedFile } from 'sallyport/toolkit'; WatchedFile.open(${JSON.stringify(file)})`

  const { status } = spawnSync(process.execPath, [...ownSources.node, '--input-type=module', '-e', script], {
    timeout: 8_000,
    cwd: ownSources.folder,
  })

  assert.equal(status, 0)
})

function fileWith(t: TestContext, text: string): string {
  const file = join(folder(t), 'file')
  writeFileSync(file, text)
  return file
}

function watching(t: TestContext, file: string, options: WatchedFileOptions = {}): WatchedFile {
  const watched = WatchedFile.open(file, { ...withoutPoll, ...options })
  t.after(() => watched.close())
  return watched
}

async function becomes(watched: WatchedFile, text: string): Promise<void> {
  await eventually(() => (watched.text === text ? true : undefined))
}
