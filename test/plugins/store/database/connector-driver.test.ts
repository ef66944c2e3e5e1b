import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { ownSources } from '#kit/own-sources.js'

test('without the package the message names it, and the command that installs it', () => {
  const hooks = `export const resolve = (name, context, next) => { if (name === 'pg') throw new Error('gone'); return next(name, context) }`
  const driver = ownSources.script(
    join(import.meta.dirname, '../../../../plugins/store/database/connector.ts'),
  )
  const script = `
    import { register } from 'node:module'
    register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(hooks))})
    const { loadDriver } = await import(${JSON.stringify(driver)})
    await loadDriver().catch(({ name, message }) => console.log(name, message))`
  const argv = [...ownSources.node, '--input-type=module', '-e', script]
  const { stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
  assert.match(stdout, /^ConfigError pg: .*`npm install pg@8`/, stderr)
})
