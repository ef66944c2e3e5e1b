import { duration } from 'sallyport'

/** How often a source is asked: often enough for anybody, and never without a pause. */
export const interval = () =>
  duration().refine((milliseconds) => milliseconds >= 1_000, 'expected 1s at least')
