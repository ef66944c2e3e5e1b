import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bin } from '#kit/started-program.js'
import { type Contestant, startAnnounced } from '../contestant.js'
import type { BenchContext } from '../context.js'
import { onCore, SERVER_CORE } from '../cores.js'
import { root } from '../paths.js'
import { memory } from '../process-tree.js'
import { sallyport } from '../proxies/own.js'
import type { Figure } from '../results.js'
import { median, ratio } from '../statistics.js'
import { registryFile } from './registry-file.js'

/**
 * Measures the time from start to the ready line, also as a multiple of Node's own start, and the memory at that time.
 */
export async function measureStarts(context: BenchContext): Promise<readonly Figure[]> {
  const config = join(context.home, 'few.json')
  writeFileSync(config, JSON.stringify(registryFile(context, 20)))
  const { RS256 } = context.issuers
  const task = {
    target: 1,
    incoming: { kind: 'jwt', ...RS256 } as const,
    bearer: 'bench',
    headers: { 'X-A': '1', 'X-B': '2' },
  }
  const programs: Readonly<Record<string, () => Promise<Contestant>>> = {
    proxy: () => sallyport.start(task, context.home),
    registry: () => startAnnounced('registry', [bin, 'registry', '--config', config]),
  }
  const bare: number[] = []
  const times = new Map(Object.keys(programs).map((name) => [name, [] as number[]]))
  const held = new Map<string, number>()
  // The first round does not count: it reads the files from the disk, the later ones from memory.
  for (let round = -1; round < context.effort.starts; round++) {
    const empty = await bareStart()
    if (round >= 0) bare.push(empty)
    for (const [name, start] of Object.entries(programs)) {
      const began = performance.now()
      const running = await start()
      if (round >= 0) times.get(name)?.push(performance.now() - began)
      held.set(name, memory(running.pid) / 1e6)
      await running.stop()
    }
  }
  return [
    { row: 'start', title: 'start of `node -e 0`', name: 'node', value: median(bare), unit: 'ms' },
    ...Object.keys(programs).flatMap((name): Figure[] => [
      startFigure(name, `start of the ${name} until ready`, median(times.get(name) ?? []), 'ms'),
      startFigure(
        name,
        `start of the ${name} against \`node -e 0\``,
        ratio(times.get(name) ?? [], bare),
        'times',
      ),
      startFigure(name, `memory of the ${name} when it is ready`, held.get(name) ?? Number.NaN, 'MB'),
    ]),
  ]
}

const startFigure = (name: string, title: string, value: number, unit: Figure['unit']): Figure => ({
  row: 'start',
  title,
  name,
  value,
  unit,
})

async function bareStart(): Promise<number> {
  const [command = '', ...rest] = onCore(SERVER_CORE, [process.execPath, '-e', '0'])
  const began = performance.now()
  await once(spawn(command, rest, { cwd: root, stdio: 'ignore' }), 'exit')
  return performance.now() - began
}
