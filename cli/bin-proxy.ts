#!/usr/bin/env node
import { nodeIsRecent } from './node-version.js'

if (nodeIsRecent()) {
  const { main } = await import('./program.js')
  await main('proxy')
}
