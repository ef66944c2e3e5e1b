export const head = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import plugin from './index.js'
`

/** The whole contract of its kind, clause by clause. */
export const contract = (settings: string): string => `
contractSuite('NAME', () => ({ list: [{ use: plugin, with: ${settings} }] }))
`
