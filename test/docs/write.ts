import { renewAll } from './pages.js'

// `npm run docs`: writes the tables of every page. A test fails when they are out of date.
await renewAll()
