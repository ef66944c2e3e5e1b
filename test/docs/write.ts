import { writeFileSync } from 'node:fs'
import { readmePath, renewed } from './readme.js'

// `npm run docs`: writes the tables that the README shows. A test fails when they are out of date.
writeFileSync(readmePath, await renewed())
