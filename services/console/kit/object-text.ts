import { resolveReference, unknownReferenceMessage } from '../../contract/reference.ts'
import { customerRetrieve } from '../../contract/registry/customer.ts'
import { deviceRetrieve } from '../../contract/registry/device.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import {
  anyKindPrefix,
  noReferenceIds,
  type ReferenceKind,
  readReference,
  referenceKinds,
} from '../../domain/reference.ts'
import type { ApiResult } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'

/**
 * Inputs that name a location, a device or a customer. All pages use these names, so that each input accepts ids and
 * own references alike.
 */
const objectInputs: ReadonlySet<string> = new Set([
  ...['location_id', 'device_id', 'customer_id', 'object', 'object_id', 'location', 'final_of'],
])
/** Input with several locations. */
const objectListInput = 'locations'

const isId = (text: string): boolean => /^[a-z]{3}_[0-9a-f]{24}$/.test(text)
const isExact = (text: string): boolean => isId(text) || readReference(text, referenceKinds) !== null

/** Return the text of an object for the API: an id, or an own reference with its prefix. */
export const objectText = (text: string): string => {
  const trimmed = text.trim()
  return trimmed === '' || isExact(trimmed) ? trimmed : `${anyKindPrefix}${trimmed}`
}

/** Split a line at commas between ids or prefixed references. The comma in another text belongs to a reference. */
const splitLine = (line: string): readonly string[] => {
  const parts = line.split(',').map(part => part.trim())
  return parts.every(part => part === '' || isExact(part)) ? parts : [line]
}

/** Return the objects of an input with one object per line, for the API. */
export const objectTexts = (text: string): readonly string[] =>
  text
    .split('\n')
    .flatMap(splitLine)
    .map(objectText)
    .filter(one => one !== '')

/** Return the text of an object as a person enters it: without a prefix that the console adds. */
export const enteredText = (text: string): string => {
  const bare = text.startsWith(anyKindPrefix) ? text.slice(anyKindPrefix.length) : text
  return objectText(bare) === text ? bare : text
}

/** Return the value of an input as a person enters it. */
export const enteredValue = (name: string, value: string): string => {
  if (objectInputs.has(name)) return enteredText(value)
  return name === objectListInput ? value.split('\n').map(enteredText).join('\n') : value
}

/** Return a query or form in which objects have the texts that the API reads. */
export const withObjectTexts = (sent: URLSearchParams): URLSearchParams =>
  new URLSearchParams(
    [...sent].map(([name, value]): [string, string] => {
      if (objectInputs.has(name)) return [name, objectText(value)]
      return name === objectListInput ? [name, objectTexts(value).join('\n')] : [name, value]
    }),
  )

const retrievals = { location: locationRetrieve, device: deviceRetrieve, customer: customerRetrieve } as const

/**
 * Return the id of an object. A text that is no reference is returned unchanged.
 * Refuses `not_found` and `reference_ambiguous`.
 */
export const findObject = async (
  { call }: Pick<ConsoleRequest, 'call'>,
  text: string,
  kinds: readonly ReferenceKind[],
): Promise<ApiResult<string>> => {
  const named = readReference(text, kinds)
  if (named === null) return { ok: true, value: text }
  const found = { ...noReferenceIds }
  for (const kind of named.kinds) {
    const object = await call(retrievals[kind], { id: `${anyKindPrefix}${named.reference}` })
    if (object.ok) found[kind] = new Map([[named.reference, object.value.id]])
    else if (object.status !== 404) return object
  }
  const id = resolveReference(named, found)
  if (!id.ok) return { ok: false, status: 400, fault: { ...id.refusal, field: null } }
  if (id.value !== null) return { ok: true, value: id.value }
  const fault = { code: 'not_found', message: unknownReferenceMessage(named), field: null }
  return { ok: false, status: 404, fault }
}
