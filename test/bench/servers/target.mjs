// The server behind every proxy. It parses only as much of HTTP as it needs, since it shares a core with the load.
// `?size=N` requests a longer answer, `?echo` the head of the request as it arrived.
import { createServer } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const answers = new Map()

createServer((socket) => {
  let held = Buffer.alloc(0)
  let left = 0
  let answer
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    while (bytes.length > 0) {
      if (answer === undefined) {
        const end = bytes.indexOf(HEAD_END)
        if (end === -1) break
        const head = bytes.latin1Slice(0, end)
        if (/^transfer-encoding:/im.test(head)) return socket.destroy()
        left = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
        answer = answerTo(head)
        bytes = bytes.subarray(end + HEAD_END.length)
      }
      const size = Math.min(left, bytes.length)
      left -= size
      bytes = bytes.subarray(size)
      if (left > 0) break
      socket.write(answer)
      answer = undefined
    }
    held = bytes
  })
}).listen(0, '127.0.0.1', function listening() {
  process.stdout.write(`http://127.0.0.1:${this.address().port}\n`)
})

function answerTo(head) {
  if (head.includes('?echo ')) return written(Buffer.from(head, 'latin1'), 'text/plain')
  const size = Number(/^\S+ \S*\?size=(\d+) /.exec(head)?.[1] ?? 200)
  let answer = answers.get(size)
  if (answer === undefined) {
    const [open, close] = ['{"jsonrpc":"2.0","id":1,"result":{"text":"', '"}}']
    const text = open + 'x'.repeat(size - open.length - close.length) + close
    answer = written(Buffer.from(text), 'application/json')
    answers.set(size, answer)
  }
  return answer
}

function written(body, type) {
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`),
    body,
  ])
}
