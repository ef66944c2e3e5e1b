// A tunnel client as they are: it leads a port of its own to the one it is given, and prints where it is.
// client.mjs PORT [listen on] [a word for the process list]
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'

const [to, on = '0', mark = ''] = process.argv.slice(2)
if (mark !== '')
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', `grandchild-${mark}`], { stdio: 'inherit' })

const server = createServer((outside) => {
  const inside = connect(Number(to), '127.0.0.1')
  for (const socket of [outside, inside]) socket.on('error', () => {})
  outside.pipe(inside).pipe(outside)
})
server.listen(Number(on), '127.0.0.1', () => {
  process.stdout.write('welcome, read our terms at https://client.example/terms\n')
  process.stderr.write(`\u001b[32mopen\u001b[0m url=http://127.0.0.1:${server.address().port} for you\r\n`)
  process.stderr.write(
    `${Object.keys(process.env).filter((name) => /^(SALLYPORT|SERVICE|OWN)_/.test(name))} url=http://127.0.0.1:1\n`,
  )
})
