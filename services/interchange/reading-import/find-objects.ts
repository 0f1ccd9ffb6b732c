import { readRegister } from '../../contract/registry/register.ts'
import { type RegisterRule, registerRuleOf } from '../../domain/record/reading-rules.ts'
import { callPatiently, type ServiceCalls } from '../../platform/call-service.ts'
import { semaphore } from '../../platform/concurrency/semaphore.ts'

/** Known answers to the question whether an object exists. The oldest are forgotten. */
const maxKnownObjects = 100_000

/** Location or device of the account, with what is known of its registers. */
export type KnownObject = { readonly id: string; readonly rule: RegisterRule | null }

/** Result of a search for an object: null if it does not exist, undefined if the key cannot read objects. */
type FoundObject = KnownObject | null | undefined

/** Searches that run at the same time. */
const concurrentSearches = 8

export type ObjectKind = 'locations' | 'devices'

/** Search for an object by the text with which the API names it. */
export type FindObject = (kind: ObjectKind, name: string) => Promise<FoundObject>

export type FinderOptions = {
  readonly client: ServiceCalls
  readonly signal: AbortSignal
  readonly onWait: (reason: string) => void
}

/** Return a search for objects by id or reference. Answers are cached, and a running search is shared. */
export const objectFinder = ({ client, signal, onWait }: FinderOptions): FindObject => {
  const known = new Map<string, Promise<FoundObject>>()
  const limited = semaphore(concurrentSearches)
  const search = async (path: string): Promise<FoundObject> => {
    const find = () => client.call<{ readonly id: string; readonly register: unknown }>('GET', path)
    const { status, body } = await callPatiently(find, signal, onWait)
    if (status === 200 && body !== null) {
      const register = readRegister(body.register)
      return { id: body.id, rule: register === null ? null : registerRuleOf(register) }
    }
    return [404, 409, 422].includes(status) ? null : undefined
  }
  return (kind, name) => {
    const path = `/${kind}/${encodeURIComponent(name)}`
    const earlier = known.get(path)
    if (earlier !== undefined) return earlier
    if (known.size >= maxKnownObjects) known.clear()
    const found = limited(() => search(path))
    known.set(path, found)
    // The caller receives the error. A later call searches again.
    found.catch(() => known.delete(path))
    return found
  }
}
