import { tokensAreTooDeep } from 'sallyport/toolkit'
import { Parser } from 'yaml'

export { valueIsTooDeep } from 'sallyport/toolkit'

/** Whether the text holds collections inside each other beyond the limit. */
export const textIsTooDeep = (source: string): boolean => tokensAreTooDeep(new Parser().parse(source))
