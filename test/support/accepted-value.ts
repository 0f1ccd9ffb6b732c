import type { Result } from '../../services/domain/refusal.ts'

/** Return the value of a result. Throws the message of a refusal. */
export const acceptedValue = <T>(result: Result<T>): T => {
  if (!result.ok) throw new Error(result.refusal.message)
  return result.value
}
