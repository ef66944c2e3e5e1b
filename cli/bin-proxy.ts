#!/usr/bin/env node
import { nodeIsRecent } from './node-version.js'
import { withinOpenFiles } from './open-files.js'

if (nodeIsRecent()) {
  await withinOpenFiles(async () => {
    const { main } = await import('./program.js')
    await main('proxy')
  })
}
