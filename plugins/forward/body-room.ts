import { getHeapStatistics, setFlagsFromString } from 'node:v8'

// What bodies of a busy gateway hold at a time, with those that wait to be freed.
const ROOM = 96 * 1024 ** 2
// A heap that may grow by less than this does better by V8's own measure.
const LEAST_PERCENT = 150
const EVERY = 30_000

/**
 * V8 counts the bytes of bodies, which are outside its heap, as if they were old objects in it. A small heap is given
 * little room for those, and bodies of 64 KB would have it collect the whole heap ten times a second, for nothing.
 * The room is a percentage of the heap, so it follows it. The function that is returned ends that.
 */
export function keepRoomForBodies(): () => void {
  const follow = (): void => {
    const percent = Math.round((100 * ROOM) / getHeapStatistics().used_heap_size)
    setFlagsFromString(`--heap-growing-percent=${percent < LEAST_PERCENT ? 0 : percent}`)
  }
  follow()
  const timer = setInterval(follow, EVERY).unref()
  return () => clearInterval(timer)
}
