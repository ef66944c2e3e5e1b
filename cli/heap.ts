import { setFlagsFromString } from 'node:v8'

/** Tells V8 what the objects of a gateway are like: nearly all of them belong to a request, and end with it. */
export function suitHeap(): void {
  // It would soon place what looks lasting among the old objects at once: with requests in flight at every look that
  // is everything of a request, which then stays until the next full collection, a third of all that is allocated.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // Young objects have 1 MB after a quiet time, and V8 doubles it late: for seconds it would collect every few
  // milliseconds, and each time take what is of requests in flight for lasting. So it is 8 MB next, and then 16, the
  // largest there is before V8 13; that one has 64 MB, and would take them all.
  if (Number.parseInt(process.versions.v8, 10) >= 13) return
  setFlagsFromString('--semi-space-growth-factor=8')
  // Bytes of bodies count as old objects. By its own measure V8 gives a small heap less room for those than a busy
  // gateway has under way, and the less the busier the machine is, and collects the whole of it ten times a second.
  setFlagsFromString('--heap-growing-percent=200')
}
