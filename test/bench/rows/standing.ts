import { proxies } from '../anchors/proxies.js'
import type { Contestant } from '../contestant.js'
import { installed } from '../installed.js'
import type { ProxyKind, Task } from '../task.js'
import type { World } from '../world.js'

/** Has everyone who can do a task stand before the target while `work` runs, and ends them and the target after it. */
export async function standing<Value>(
  world: World,
  task: Task,
  target: Contestant,
  work: (contestants: readonly Contestant[]) => Promise<Value>,
  without: readonly ProxyKind[] = [],
): Promise<Value> {
  const contestants: Contestant[] = []
  try {
    for (const proxy of proxies) {
      if (!installed(proxy) || !proxy.can(task) || without.includes(proxy)) continue
      contestants.push(await proxy.start(task, world.home))
    }
    return await work(contestants)
  } finally {
    await Promise.all([...contestants, target].map((one) => one.stop()))
  }
}
