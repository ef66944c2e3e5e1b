import type { Dispatch } from 'sallyport'

type Response = Awaited<ReturnType<Dispatch>>

/** Milliseconds for a body. Before it come the time limit of the target, and that of whoever signs in. */
const LONGEST = 60_000

/** The body of an answer, or a sentence about why there is none: what is asked may send without end. */
export async function readBody(
  response: Response,
  most: number,
  longest = LONGEST,
): Promise<{ readonly text: string } | { readonly fault: string }> {
  const stream = response.stream()
  const chunks: Buffer[] = []
  let size = 0
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stream.destroy()
  }, longest)
  try {
    for await (const chunk of stream) {
      size += chunk.length
      if (size > most) return { fault: `its answer has more than ${most} bytes` }
      chunks.push(chunk)
    }
    return { text: Buffer.concat(chunks).toString() }
  } catch {
    return { fault: isLate ? `its answer did not end within ${longest / 1000} s` : 'its answer broke off' }
  } finally {
    clearTimeout(timer)
    response.raw.res.destroy()
  }
}
