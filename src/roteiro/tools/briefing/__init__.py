"""A first retrieval, made before the model speaks.

The question is read, and the graph's few telling facts are worded as direct answers, the best first.

    Briefer(access).brief(question) -> Briefing(facts, refusal, places)

`question.py` reads what is asked, the other modules find facts of one kind each. What a question asks about
and the repository does not have is said by Roteiro itself (`refusal`): models do not abstain by good will.
Thread: any; blocks on the store.
"""

from roteiro.tools.briefing.briefer import MAX_TOKENS, Briefer, Briefing

__all__ = ["MAX_TOKENS", "Briefer", "Briefing"]
