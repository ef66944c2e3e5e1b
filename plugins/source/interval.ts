import { duration } from 'sallyport/toolkit'

/** How often a source is read. */
export const interval = () =>
  duration().refine((milliseconds) => milliseconds >= 1_000, 'expected 1s at least')
