import type { Examination } from 'sallyport'
import { messageOf } from 'sallyport/toolkit'

/** The resource as clients know it: 401, metadata, authorization server. */
export async function examineResource({ probes, wrong }: Examination, resource: string): Promise<void> {
  const closedAdvice = 'start the gateway and run this again, or correct the URL of the resource'
  if (!(await probes.reach(resource, { direct: true, closedAdvice }))) return
  try {
    const { challenge } = await probes.greet(resource, { direct: true })
    await probes.resource(resource, challenge)
  } catch (error) {
    const message = messageOf(error)
    wrong('resource', 'RESOURCE_FAILED', `no response: ${message}`, 'look into the log of the server there')
  }
}
