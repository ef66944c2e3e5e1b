import { contractSuite } from 'sallyport/testing'
import { storeSuite } from './storing.js'

contractSuite('state/memory', () => ({ list: [{ use: 'state/memory' }] }))

storeSuite('state/memory', () => ({ use: 'state/memory' }))
