import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { programCommand, programName, shellQuoted } from '#cli/program-name.js'
import { folder } from '#kit/folder.js'

test('the program is named as it was called, when that works in another terminal too', (t) => {
  const home = folder(t, { 'package/bin.js': '' })
  const [program, bin] = [join(home, 'package/bin.js'), join(home, 'bin')]
  mkdirSync(bin)
  symlinkSync(program, join(bin, 'sallyport'))
  const started = join(bin, 'sallyport')

  assert.equal(programName(started, { npm_command: 'exec', PATH: bin }), 'npx sallyport')
  assert.equal(programName(started, { PATH: `/nowhere:${bin}` }), 'sallyport')
  assert.equal(programName(started, { PATH: '/nowhere' }), `${process.execPath} ${program}`)
  assert.deepEqual(programCommand(started, { PATH: bin }), ['sallyport'])
  for (const environment of [{ npm_command: 'exec', PATH: bin }, { PATH: '/nowhere' }])
    assert.deepEqual(programCommand(started, environment), [process.execPath, program])
})

test('another program of the same name, earlier in the path, does not count as this one', (t) => {
  const home = folder(t, { 'package/bin.js': '', 'first/sallyport': '' })
  const program = join(home, 'package/bin.js')
  mkdirSync(join(home, 'second'))
  symlinkSync(program, join(home, 'second/sallyport'))

  const PATH = `${home}/first:${home}/second`
  assert.equal(programName(join(home, 'second/sallyport'), { PATH }), `${process.execPath} ${program}`)
})

test('a shell reads any text as one word', () => {
  const text = fc.string({ unit: 'binary' }).filter((one) => !/[\0\ud800-\udfff]/.test(one))
  fc.assert(
    fc.property(text, (one) => {
      assert.equal(execFileSync('sh', ['-c', `printf %s ${shellQuoted(one)}`], { encoding: 'utf8' }), one)
    }),
    { numRuns: 60 },
  )
})
