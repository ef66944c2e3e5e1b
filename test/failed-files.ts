import type { TestEvent } from 'node:test/reporters'

/** A reporter for `run.ts`: a line for each file in which a test failed. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>()
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.file === undefined || told.has(data.file)) continue
    told.add(data.file)
    yield `${data.file}\n`
  }
}
