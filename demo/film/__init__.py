"""The recorded film of the product: its story as data, the recorders, and the encoder.

`python -m demo.film FOLDER` makes the files of the demo anew. Everything on the picture is made by the
product itself while the film is taken; nothing here is imported by the product.
"""
