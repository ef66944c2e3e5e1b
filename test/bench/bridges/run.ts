import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { MCP_REMOTE, sideBySide } from './side-by-side.js'

// `npm run bench:stdio` compares the built `sallyport proxy stdio` with mcp-remote, which it installs into a temporary
// folder. It ends with 1 when ours is slower or larger in any figure. `--quick` measures less, `--json` prints JSON.
const given = (flag: string): boolean => process.argv.includes(flag)
const [ROUNDS, CALLS] = given('--quick') ? [5, 100] : [11, 500]

if (!given('--no-build')) {
  execFileSync('npm', ['run', '--silent', 'build'], {
    cwd: join(import.meta.dirname, '../../..'),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}
const rows = await sideBySide(ROUNDS, CALLS)
const held = rows.every(({ ratio }) => ratio <= 1)

if (given('--json')) {
  const { version: node } = process
  const figures = { node, mcpRemote: MCP_REMOTE, rounds: ROUNDS, calls: CALLS, held, rows }
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
} else {
  const lines = [
    `Node ${process.version}, ${availableParallelism()} cores; medians of ${ROUNDS} rounds in turn, ${CALLS} calls in each`,
    `| what | sallyport proxy stdio | mcp-remote ${MCP_REMOTE} | ours of theirs |`,
    '| --- | ---: | ---: | ---: |',
    ...rows.map(
      ({ what, unit, ours, theirs, ratio }) =>
        `| ${what} | ${ours.toFixed(1)} ${unit} | ${theirs.toFixed(1)} ${unit} | ${ratio.toFixed(2)} |`,
    ),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}
process.exitCode = held ? 0 : 1
