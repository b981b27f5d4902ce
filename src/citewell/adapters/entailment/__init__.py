"""Local models that read two texts: does the first one carry the second?"""
