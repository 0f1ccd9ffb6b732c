import { openReceiver, type ReceivedRequest, type Receiver } from '../webhooks/receiver.ts'

/** Answer of the service in JSON, another text, or a broken connection. */
type ScriptedAnswer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: object | string }
  | 'reset'

/** Open a server with given answers: one for each request in order, or a function of the request. */
export const openScriptedService = (
  answers: readonly ScriptedAnswer[] | ((request: ReceivedRequest) => ScriptedAnswer),
): Promise<Receiver> => {
  let count = 0
  return openReceiver(request => {
    const answer = typeof answers === 'function' ? answers(request) : (answers[count++] ?? 'reset')
    if (answer === 'reset') return 'reset'
    const headers = { 'Content-Type': 'application/json', ...answer.headers }
    return {
      status: answer.status,
      headers,
      body: typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body),
    }
  })
}
