/** Address and API key (scope `metering`) of a Wattledger service. */
export type Service = { readonly url: string; readonly key: string }

/**
 * Send a body, and return after the service has stored it durably.
 * Throws if the service refuses a part of it. If the outcome is unknown, send the same body again: each record counts once.
 */
export const put = async ({ url, key }: Service, path: string, body: unknown): Promise<void> => {
  const response = await fetch(`${url}${path}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as { readonly message?: string; readonly failed_records?: readonly unknown[] }
  if (!response.ok) throw new Error(`${response.status}: ${answer.message}`)
  if (answer.failed_records?.length !== 0) throw new Error(`refused: ${JSON.stringify(answer.failed_records)}`)
}
