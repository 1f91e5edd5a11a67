/** Why there is no answer: a sentence that names no secret. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}
