import type { Contestant } from '../contestant.js'
import type { BenchContext } from '../context.js'
import { installed } from '../installed.js'
import { proxies } from '../proxies/all.js'
import type { ProxyKind, Task } from '../task.js'

/** Starts every proxy that can do the task, runs `work`, and stops the proxies and the target afterwards. */
export async function withProxies<Value>(
  context: BenchContext,
  task: Task,
  target: Contestant,
  work: (contestants: readonly Contestant[]) => Promise<Value>,
  without: readonly ProxyKind[] = [],
): Promise<Value> {
  const contestants: Contestant[] = []
  try {
    for (const proxy of proxies) {
      if (!installed(proxy) || !proxy.can(task) || without.includes(proxy)) continue
      contestants.push(await proxy.start(task, context.home))
    }
    return await work(contestants)
  } finally {
    await Promise.all([...contestants, target].map((one) => one.stop()))
  }
}
