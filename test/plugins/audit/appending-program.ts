import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog } from 'sallyport/embed'
import { event, feeder } from './feeder.js'

// A gateway that audits a number of events as fast as possible, until its standard input ends.
const [name = '', count = '', options = ''] = process.argv.slice(2)
const { plugin, feed } = feeder()
const list = [{ use: 'audit/file', with: JSON.parse(options) }, { use: plugin }]
const running = await boot(list, { catalogue, folder: process.cwd(), log: createLog({ level: 'warn' }) })
for (let number = 0; number < Number(count); number++) {
  feed(event(`${name}${number}`, { subject: 'x'.repeat(number % 300) }))
  if (number % 20 === 0) await setTimeout(10)
}
process.stdout.write('done\n')
await once(process.stdin.resume(), 'end')
await running.stop()
