/** Address and API key (scope `metering`) of a Wattledger service. */
export type Service = { readonly url: string; readonly key: string }

/** The service can never accept a body. A repeat cannot succeed. */
export class BodyRefused extends Error {}

/** Statuses of a body that is wrong. A wrong key or a service that is too busy has another status. */
const wrongBody = [400, 413, 422]

type Answer = { readonly message?: string; readonly failed_records?: readonly unknown[] }

/** Read an answer. A proxy before the service can answer with other text. */
const answerOf = (text: string): Answer => {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return { message: text.slice(0, 200) }
  }
}

/**
 * Send a body, and return after the service has stored it durably.
 * Throws `BodyRefused` if the service refuses a part of it. After any other error send the same body again: each record
 * counts once.
 */
export const put = async ({ url, key }: Service, path: string, body: unknown): Promise<void> => {
  const response = await fetch(`${url}${path}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = answerOf(await response.text())
  if (wrongBody.includes(response.status)) throw new BodyRefused(answer.message)
  if (!response.ok) throw new Error(`${response.status}: ${answer.message}`)
  if (answer.failed_records?.length !== 0) throw new BodyRefused(JSON.stringify(answer.failed_records))
}
