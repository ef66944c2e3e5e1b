import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bin } from '#kit/started-program.js'
import { sallyport } from '../anchors/own.js'
import { announced, type Contestant } from '../contestant.js'
import { onCore, SERVED } from '../cores.js'
import { root } from '../place.js'
import { memory } from '../process-tree.js'
import type { Figure } from '../results.js'
import { median, ratio } from '../statistics.js'
import type { World } from '../world.js'
import { registryFile } from './registry-file.js'

/** How long a start takes until the ready line, as a multiple of the runtime's own, and what it holds then. */
export async function measureStarts(world: World): Promise<readonly Figure[]> {
  const config = join(world.home, 'few.json')
  writeFileSync(config, JSON.stringify(registryFile(world, 20)))
  const { RS256 } = world.issuers
  const task = {
    target: 1,
    incoming: { kind: 'jwt', ...RS256 } as const,
    bearer: 'bench',
    headers: { 'X-A': '1', 'X-B': '2' },
  }
  const programs: Readonly<Record<string, () => Promise<Contestant>>> = {
    proxy: () => sallyport.start(task, world.home),
    registry: () => announced('registry', [bin, 'registry', '--config', config]),
  }
  const bare: number[] = []
  const times = new Map(Object.keys(programs).map((name) => [name, [] as number[]]))
  const held = new Map<string, number>()
  // The first start of each reads from the disk what those after it find in memory.
  for (let round = -1; round < world.effort.starts; round++) {
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
  const [command = '', ...rest] = onCore(SERVED, [process.execPath, '-e', '0'])
  const began = performance.now()
  await once(spawn(command, rest, { cwd: root, stdio: 'ignore' }), 'exit')
  return performance.now() - began
}
